// The syntax tree of a chat template.
#pragma once

#include "runtime/chat/Functions.h"
#include "runtime/chat/Operators.h"

#include <memory>
#include <string>
#include <vector>

namespace heddle::chat {

// An index into Program::names.
using Symbol = uint32_t;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Argument {
  enum class Form { Positional, Named, Unpacked, UnpackedNamed }; // x, name=x, *x, **x
  Form form;
  std::string name;
  ExpressionPtr value;
};

struct Expression {
  enum class Kind : uint8_t {
    Constant,
    Name,
    List,
    Tuple,
    Dict,        // keys and values alternate
    Conditional, // condition, value if true, value if false; the last may be missing
    And,
    Or,
    Not,
    Compare, // a chain of operators between consecutive operands
    Binary,
    Negate,
    Plus,
    Concatenate, // a ~ b ~ c
    Attribute,
    Item,
    Slice, // value, lower, upper, step; the bounds may be null
    Call,
    Filter,
    Test,
    Block, // the text of the block to which a filter is applied
  };

  Kind kind;
  int line;
  unsigned depth = 1; // of the tree below this node
  Value constant;
  Symbol symbol = 0;
  std::string name; // the name of an attribute, filter or test
  const Filter *filter = nullptr;
  const Test *test = nullptr; // null if there is no such test; using it is then an error
  std::vector<Operator> operators;
  std::vector<ExpressionPtr> operands;
  std::vector<Argument> arguments;
};

// The target of an assignment.
struct Target {
  enum class Form { Name, Attribute, Tuple };
  Form form = Form::Name;
  int line = 0;
  Symbol symbol = 0;         // the name or the namespace
  std::string attribute;     // the namespace's attribute
  std::vector<Target> parts; // the tuple's elements
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Parameter {
  Symbol symbol;
  std::string name;
  ExpressionPtr otherwise; // null if it has no default
};

// A macro, or the body of a `call` block that is passed to a macro.
struct MacroDefinition {
  std::string name;
  Symbol symbol = 0;
  std::vector<Parameter> parameters;
  Body body;
  bool usesCaller = false, usesArguments = false, usesNamed = false; // `caller`, `varargs`, `kwargs`
};

struct Branch {
  ExpressionPtr test; // null for `else`
  Body body;
};

struct Statement {
  enum class Kind : uint8_t {
    Text,
    Print,
    If,          // branches
    For,         // target, value, test, body, otherwise
    Set,         // target, value
    SetBlock,    // target, value (the filters, or null), body
    Macro,       // macro
    CallBlock,   // value (the call), macro
    FilterBlock, // value (the filters), body
    With,        // targets, values, body
    Generation,  // body
    Break,
    Continue,
  };

  Kind kind;
  int line;
  std::string text;
  Target target;
  ExpressionPtr value, test;
  bool isRecursive = false;
  std::vector<Branch> branches;
  std::vector<Target> targets;
  std::vector<ExpressionPtr> values;
  Body body, otherwise;
  std::unique_ptr<MacroDefinition> macro;
};

struct Program {
  Body body;
  std::vector<std::string> names;
  Symbol loop = 0, caller = 0, arguments = 0, named = 0; // `loop`, `caller`, `varargs`, `kwargs`
};

// Parses a template. The error message ends with the line of the mistake.
Result<Program> parseTemplate(std::string_view text);

} // namespace heddle::chat
