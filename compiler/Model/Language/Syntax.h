// The syntax tree of a model text (.weft). docs/language.md describes the language.
#pragma once

#include "mlir/IR/Location.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::heddle::language {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// A name and its location.
struct Name {
  std::string text;
  LocationAttr where;
};

/// `names = value`, or only a value. Several names unpack a list of values.
struct Statement {
  std::vector<Name> names;
  ExpressionPtr value;
};

/// Statements between braces. Their value is the value of the last statement.
struct Body {
  std::vector<Name> parameters; // `{ |a, b| ... }`
  std::vector<Statement> statements;
  LocationAttr where;
};

struct Argument {
  std::string name; // empty for positional arguments
  LocationAttr where;
  ExpressionPtr value;
};

/// The name and initial value of a state of a repetition or scan; or the name and value of a scan's rows.
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
    List,     // operands, separated by commas, with or without brackets
  };

  Expression(Kind kind, LocationAttr where) : kind(kind), where(where) {}
  /// Destroys first operands in a loop instead of recursively: a sum of 10,000 terms is a tree of depth 10,000.
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
  bool isWhole = false; // for numbers without point and exponent
  std::vector<ExpressionPtr> operands;
  std::vector<Argument> arguments;
  std::vector<State> rows; // rows of a Scan; the name of a Repeat's number, if it has one
  std::vector<State> states;
  ExpressionPtr start;     // initial value of a weight; may be null
  ExpressionPtr otherwise; // the `else if` of an If; may be null
  std::unique_ptr<Body> block, otherBlock;
};

/// `param name = value | choice | ...` or `param name = value in low .. high`
struct Parameter {
  Name name;
  ExpressionPtr value; // null: the parameter must be set
  std::vector<ExpressionPtr> choices;
  ExpressionPtr low, high;
};

/// `def name(parameters) { ... }`
struct Definition {
  Name name;
  std::vector<Parameter> parameters;
  std::unique_ptr<Body> body;
};

/// A part of the model that its task defines, such as `memory(source) { ... }`, or an optimizer's
/// `update(weight, gradient) with m = zeros(weight) { ... }`.
struct Part {
  Name name;
  std::vector<Name> inputs;
  std::vector<State> states; // of `update`
  std::unique_ptr<Body> body;
};

/// `"decoder.*.self.query" = transpose("model.layers.*.self_attn.q_proj"), "blk.*.attn_q"`
struct TensorRule {
  Name weights;         // a weight's name, or the prefix of a weight and a bias; * is a layer's number
  ExpressionPtr tensor; // the tensor in a folder; or a list: the tensor in a folder, and the one in a GGUF file
};

/// `published "LlamaForCausalLM" gguf "llama" { ... }`: the format in which models of the text's family are published.
struct PublishedSection {
  std::vector<Name> architectures; // their names in config.json
  std::optional<Name> gguf;        // the architecture's name in GGUF files
  std::vector<Statement> statements;
  std::vector<TensorRule> tensors;
};

/// A model text's file.
struct Text {
  std::optional<Name> task;
  std::vector<Name> uses; // texts that this one inherits definitions and parameters from
  std::vector<Parameter> parameters;
  std::vector<Definition> definitions;
  std::vector<Part> parts;
  std::vector<Statement> statements;
  std::optional<PublishedSection> published;
  bool isOptimizer = false; // the text has no task and no part but `update`
  std::string fingerprint;  // ModelText::getFingerprint
};

} // namespace mlir::heddle::language
