#include "compiler/Kernel/Fusion/PackVariables.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::heddle;

std::string heddle::joinNames(ArrayRef<StringRef> names) {
  auto common = [&](auto at) {
    size_t length = 0, shortest = names.front().size();
    for (StringRef name : names)
      shortest = std::min(shortest, name.size());
    while (length < shortest &&
           llvm::all_of(names, [&](StringRef name) { return at(name, length) == at(names.front(), length); }))
      ++length;
    return length;
  };
  // Cut at dots: the prefix ends with one, and the suffix begins with one.
  StringRef first = names.front();
  StringRef prefix = first.take_front(common([](StringRef name, size_t i) { return name[i]; }));
  prefix = prefix.take_front(prefix.rfind('.') + 1);
  StringRef suffix = first.take_back(common([](StringRef name, size_t i) { return name[name.size() - 1 - i]; }));
  suffix = suffix.contains('.') ? suffix.drop_front(suffix.find('.')) : StringRef();
  SmallVector<StringRef> middles;
  for (StringRef name : names)
    middles.push_back(name.drop_front(prefix.size()).drop_back(suffix.size()));
  return (prefix + llvm::join(middles, "+") + suffix).str();
}

VariableOp heddle::packVariables(StringRef name, ArrayRef<VariableOp> parts, SymbolTable &symbols) {
  VariableOp first = parts.front();
  OpBuilder builder(first);
  SmallVector<int64_t> shape(first.getTensorType().getShape());
  shape[0] = 0;
  for (VariableOp part : parts) {
    part.setFrom(shape[0]);
    shape[0] += part.getTensorType().getDimSize(0);
  }
  auto type = RankedTensorType::get(shape, first.getTensorType().getElementType());
  auto packed = VariableOp::create(builder, first.getLoc(), name, first.getKind(), type);
  symbols.insert(packed, Block::iterator(first)); // renamed if the model has a variable of this name
  for (VariableOp part : parts)
    part.setStorageAttr(FlatSymbolRefAttr::get(packed));
  return packed;
}

VariableOp heddle::packVariables(VariableRole role, VariableOp owner, ArrayRef<VariableOp> parts,
                                 SymbolTable &symbols) {
  VariableOp packed = packVariables(getVariableName(role, owner.getSymName()), parts, symbols);
  packed.setKind(getKind(role));
  packed.setOwnerAttr(FlatSymbolRefAttr::get(owner));
  packed.setRoleAttr(VariableRoleAttr::get(owner.getContext(), role));
  return packed;
}
