// What an expression of a model text means while the text is elaborated: a constant, a weight, or a tensor of the
// model.
#ifndef HEDDLE_COMPILER_LANGUAGE_ITEM_H
#define HEDDLE_COMPILER_LANGUAGE_ITEM_H

#include "compiler/Language/Syntax.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <map>
#include <variant>

namespace mlir::heddle::language {

/// Images that a model takes, with a row of so many channels for each pixel; zeros where it takes none.
struct ImageShape {
  int64_t height = 0, width = 0, channels = 0;
  int64_t pixels() const { return height * width; }
};

/// The sequences of an input of the task. Each of its tokens has a row of every tensor that is made of it, and the type
/// of such a tensor says so by the name `tokens` (#heddle.dims).
struct Side {
  std::string name;    // of the input, as in `memory(source)`
  std::string tokens;  // the run-time size that holds the number of all sequences' tokens
  std::string longest; // the run-time size that holds the longest sequence's length
  int64_t most = 0;    // the most tokens that a sequence has
  std::string labels;  // the run-time size of the tokens that have a label; empty where there are no such tokens
  Value starts, lengths;
  Value positions;    // each token's position in its sequence
  Value labelled;     // which tokens have a label
  ImageShape image;   // if the sequences are images, whose pixels are the tokens
  int64_t stride = 1; // every stride-th row and column of the model's images has tokens

  // Of keys that a query by itself has: the words of each sentence, or the neighbours of each token. These are tokens
  // of another input, which has the rows. Neighbours have lists of rows and no starts, and lists of the tokens that
  // they are neighbours of.
  const Side *tokensOf = nullptr;
  Value rows;
  SmallVector<Value, 3> users;
};

/// How a weight starts out.
struct WeightStart {
  StartKind kind = StartKind::Constant;
  double scale = 0; // the constant, the bound or the standard deviation
};

/// A weight, which becomes a variable of the module where it is used first.
struct WeightItem {
  std::string name;
  SmallVector<int64_t> shape;
  WeightStart start;
  LocationAttr where;
};

/// A row of numbers that row() makes, which an op has where a part uses it.
struct RowItem {
  SmallVector<float> values;
  LocationAttr where;
};

struct Scope;

/// A block with parameters, `{ |a, b| ... }`, with the scope and the path of the place where it was written.
struct BlockItem {
  const Body *block = nullptr;
  const Scope *scope = nullptr;
  std::string path;
};

/// A tensor of the model, or a scalar within a region of an op.
struct TensorItem {
  Value value;
  const Side *keys = nullptr; // of a tensor of pairs of queries and keys: what the keys are
  bool isTransposed = false;  // by transpose(): the right side of a product alone
};

struct Item;
using ListItem = std::vector<Item>;

/// A number; `isWhole` where it has no fraction by the way it was made, so that it may be a width.
struct NumberItem {
  double value;
  bool isWhole;
};

/// `std::monostate` is what a mistake means, which was told already: whatever is made of it is of the same kind.
struct Item : std::variant<std::monostate, NumberItem, bool, std::string, WeightStart, std::shared_ptr<WeightItem>,
                           std::shared_ptr<RowItem>, TensorItem, BlockItem, ListItem> {
  using variant::variant;
  bool isMistake() const { return std::holds_alternative<std::monostate>(*this); }
  template <typename T> const T *as() const { return std::get_if<T>(this); }
};

/// Whether the item is a tensor, or becomes one when a part is computed.
inline bool isTensor(const Item &item) {
  return item.as<TensorItem>() || item.as<std::shared_ptr<WeightItem>>() || item.as<std::shared_ptr<RowItem>>();
}

/// Names and what they stand for.
struct Scope {
  const Scope *outer = nullptr;
  std::map<std::string, Item, std::less<>> items;
};

inline Item number(double value) { return NumberItem{value, false}; }
inline Item wholeNumber(int64_t value) { return NumberItem{static_cast<double>(value), true}; }

} // namespace mlir::heddle::language

#endif
