// The state of a model text's part while it becomes a function of the module.
#pragma once

#include "compiler/Model/Language/Elaborator.h"

#include <map>

namespace mlir::heddle::language {

/// The run-time size that counts sequences.
inline constexpr StringLiteral kSequences = "sequences";

/// The side of pairs of texts whose texts are all sequences of the source, and the size that counts its groups.
inline constexpr StringLiteral kPair = "pair", kPairGroups = "pair_groups";

/// A part and its function. Values from other parts are arguments of the function, by name.
struct Elaborator::PartState {
  const Part *syntax;
  func::FuncOp function;
  Scope scope; // later parts see what this part binds

  SmallVector<Attribute> argumentAttrs;
  SmallVector<std::pair<std::string, Value>> results; // the part's own results, then values that other parts use
  llvm::DenseMap<Value, Value> imported;              // value of another part -> argument
  llvm::DenseMap<Value, Value> origins;               // argument -> value of another part
  llvm::StringMap<Value> weights;                     // values of weights that were read, by name
  std::map<std::shared_ptr<RowItem>, Value> rows;     // holds the rows, so that their addresses stay unique
  std::map<std::string, Located> located;             // position and sequence of queries, by the size that counts them
};

} // namespace mlir::heddle::language
