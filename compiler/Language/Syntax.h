// The syntax of a model text (.weft) as a tree. README.md beside this file has the grammar.
#ifndef HEDDLE_COMPILER_LANGUAGE_SYNTAX_H
#define HEDDLE_COMPILER_LANGUAGE_SYNTAX_H

#include "mlir/IR/Location.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::heddle::language {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// A name where it is written.
struct Name {
  std::string text;
  LocationAttr where;
};

/// `names = value`, or a value alone. Several names take a list of values apart.
struct Statement {
  std::vector<Name> names;
  ExpressionPtr value;
};

/// Statements between braces. The value is that of the last one.
struct Body {
  std::vector<Name> parameters; // `{ |a, b| ... }`
  std::vector<Statement> statements;
  LocationAttr where;
};

struct Argument {
  std::string name; // empty: by its place
  LocationAttr where;
  ExpressionPtr value;
};

/// What a state of a repetition is called and starts as; of a scan, what its rows are called and are.
struct State {
  Name name;
  ExpressionPtr start;
};

struct Expression {
  enum Kind {
    Number,   // number
    String,   // text
    Flag,     // number: 0 or 1
    Variable, // text
    Negate,   // operands[0]; unary minus
    Not,      // operands[0]
    Binary,   // operands[0] `text` operands[1]
    Call,     // text(arguments) block
    Index,    // operands[0] [ operands[1] ]
    Weight,   // weight text[operands] ~ start
    If,       // if operands[0] block else otherwise
    Repeat,   // repeat operands[0] [as rows[0]] with states block
    Scan,     // scan `text` rows with states block; text: "reversed" or empty
    List,     // operands, with commas between them; in brackets or without
  };

  Expression(Kind kind, LocationAttr where) : kind(kind), where(where) {}
  /// First operands are destroyed in a loop: a sum of 10,000 terms is as deep as it is long.
  ~Expression() {
    while (!operands.empty() && operands.front()) {
      ExpressionPtr first = std::move(operands.front());
      operands = std::exchange(first->operands, {});
    }
  }

  Kind kind;
  LocationAttr where;
  std::string text;
  double number = 0;
  bool isWhole = false; // a number without point and exponent
  std::vector<ExpressionPtr> operands;
  std::vector<Argument> arguments;
  std::vector<State> rows; // of a Scan; of a Repeat what its number is called, if anything
  std::vector<State> states;
  ExpressionPtr start;     // of a weight; may be null
  ExpressionPtr otherwise; // the `else if` of an If; may be null
  std::unique_ptr<Body> block, otherBlock;
};

/// `param name = value | choice | ...` or `param name = value in low .. high`
struct Parameter {
  Name name;
  ExpressionPtr value; // null: it has to be given
  std::vector<ExpressionPtr> choices;
  ExpressionPtr low, high;
};

/// `def name(parameters) { ... }`
struct Definition {
  Name name;
  std::vector<Parameter> parameters;
  std::unique_ptr<Body> body;
};

/// A part of the model that its task asks for, such as `memory(source) { ... }`.
struct Part {
  Name name;
  std::vector<Name> inputs;
  std::unique_ptr<Body> body;
};

/// `"decoder.*.self.query" = transpose("model.layers.*.self_attn.q_proj"), "blk.*.attn_q"`
struct TensorRule {
  Name weights;         // a weight, or a weight and a bias by what is before the last point; * is a layer's number
  ExpressionPtr tensor; // of a folder, or a list: of a folder and of a GGUF file
};

/// `published "LlamaForCausalLM" gguf "llama" { ... }`: how models of the text's family are published.
struct PublishedSection {
  std::vector<Name> architectures; // as config.json names them
  std::optional<Name> gguf;        // as GGUF files name the architecture
  std::vector<Statement> statements;
  std::vector<TensorRule> tensors;
};

/// A file.
struct Text {
  std::optional<Name> task;
  std::vector<Name> uses; // texts whose definitions and parameters are this one's too
  std::vector<Parameter> parameters;
  std::vector<Definition> definitions;
  std::vector<Part> parts;
  std::vector<Statement> statements;
  std::optional<PublishedSection> published;
  std::string fingerprint; // ModelText::getFingerprint
};

} // namespace mlir::heddle::language

#endif
