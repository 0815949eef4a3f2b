// Items are the values of expressions while a model text is elaborated: constants, weights, tensors of the model,
// blocks and lists.
#pragma once

#include "compiler/Model/Language/Syntax.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <map>
#include <variant>

namespace mlir::heddle::language {

/// The shape of a model's input images. Each pixel is a row of `channels` numbers. All fields are 0 if the model takes
/// no images.
struct ImageShape {
  int64_t height = 0, width = 0, channels = 0;
  int64_t pixels() const { return height * width; }
};

/// The sequences of an input of the task. Tensors that are computed from the input have one row for each of its tokens.
/// Their types name the size `tokens` as the extent of the rows (#heddle.dims).
struct Side {
  std::string name;    // the input's name, as in `memory(source)`
  std::string tokens;  // the run-time size: number of tokens of all sequences
  std::string longest; // the run-time size: length of the longest sequence
  int64_t most = 0;    // the maximum length of a sequence
  std::string labels;  // the run-time size: number of tokens with a label; empty if tokens have no labels
  Value starts, lengths;
  Value positions;    // each token's position in its sequence
  Value labelled;     // the indices of the tokens with a label
  ImageShape image;   // if the sequences are images, whose pixels are the tokens
  int64_t stride = 1; // every stride-th row and column of the model's images has tokens

  // For a side of keys that belong to one query each: the words of a sentence, or the neighbours of a token. The keys
  // are tokens of another input, `tokensOf`, which owns their rows. Words have starts and lengths. Neighbours have
  // `rows`, a list of row indices for each token, and `users`, for each token the lists of the tokens that it is a
  // neighbour of.
  const Side *tokensOf = nullptr;
  Value rows;
  SmallVector<Value, 3> users;
};

/// How a weight is initialised.
struct WeightStart {
  StartKind kind = StartKind::Constant;
  double scale = 0; // the constant, the bound or the standard deviation
};

/// A weight. It becomes a variable of the module at its first use.
struct WeightItem {
  std::string name;
  SmallVector<int64_t> shape;
  WeightStart start;
  LocationAttr where;
};

/// A constant row of numbers, made by row(). Each part that uses it gets one op for it.
struct RowItem {
  SmallVector<float> values;
  LocationAttr where;
};

struct Scope;

/// A block with parameters, `{ |a, b| ... }`, and the scope and path at which it was written.
struct BlockItem {
  const Body *block = nullptr;
  const Scope *scope = nullptr;
  std::string path;
};

/// A tensor of the model, or a scalar in a region of an op.
struct TensorItem {
  Value value;
  const Side *keys = nullptr; // the side of the keys, for a tensor of pairs of queries and keys
  bool isTransposed = false;  // result of transpose(), which is only allowed as the right operand of '@'
};

struct Item;
using ListItem = std::vector<Item>;

/// A number. `isWhole` is true if it was computed as an integer, so that it may be a width.
struct NumberItem {
  double value;
  bool isWhole;
};

/// `std::monostate` stands for a mistake that has been reported already. An expression with such an operand is a
/// mistake too, without another error.
struct Item : std::variant<std::monostate, NumberItem, bool, std::string, WeightStart, std::shared_ptr<WeightItem>,
                           std::shared_ptr<RowItem>, TensorItem, BlockItem, ListItem> {
  using variant::variant;
  Item(InFlightDiagnostic &&) {} // a mistake: `return fail(where) << ...`
  bool isMistake() const { return std::holds_alternative<std::monostate>(*this); }
  template <typename T> const T *as() const { return std::get_if<T>(this); }
  /// The side of the keys, for a tensor of pairs of queries and keys; null for other items.
  const Side *keys() const { return as<TensorItem>() ? as<TensorItem>()->keys : nullptr; }
};

/// Returns true if the item is a tensor, or becomes one when a part uses it.
inline bool isTensor(const Item &item) {
  return item.as<TensorItem>() || item.as<std::shared_ptr<WeightItem>>() || item.as<std::shared_ptr<RowItem>>();
}

/// The names of a scope and their values.
struct Scope {
  const Scope *outer = nullptr;
  std::map<std::string, Item, std::less<>> items;
};

inline Item number(double value) { return NumberItem{value, false}; }
inline Item wholeNumber(int64_t value) { return NumberItem{static_cast<double>(value), true}; }

} // namespace mlir::heddle::language
