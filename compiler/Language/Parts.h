// The parts of a model text while they become functions of the module.
#ifndef HEDDLE_COMPILER_LANGUAGE_PARTS_H
#define HEDDLE_COMPILER_LANGUAGE_PARTS_H

#include "compiler/Language/Elaborator.h"

#include <map>

namespace mlir::heddle::language {

/// The run-time size that counts sequences.
inline constexpr StringLiteral kSequences = "sequences";

/// A part and its function. Values that it takes from other parts are arguments of the function, by name.
struct Elaborator::PartState {
  const Part *syntax;
  func::FuncOp function;
  Scope scope; // later parts see what this part binds

  SmallVector<Attribute> argumentAttrs;
  SmallVector<std::pair<std::string, Value>> results; // what it yields, first, and what other parts take from it
  llvm::DenseMap<Value, Value> imported;              // of other parts -> an argument
  llvm::DenseMap<Value, Value> origins;               // an argument -> of another part
  llvm::StringMap<Value> weights;                     // by name, read
  std::map<std::shared_ptr<RowItem>, Value> rows;     // kept alive, so that no other row has its address
  std::map<std::string, Located> located;             // where queries are, by the size that counts them
};

} // namespace mlir::heddle::language

#endif
