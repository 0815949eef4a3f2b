#include "compiler/Kernel/Tiling/RowVariants.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::heddle;

DenseSet<Operation *> heddle::findEntriesOfDecoding(ModuleOp module) {
  SymbolTable symbols(module);
  auto isCache = [&](ReadOp read) {
    auto variable = symbols.lookup<VariableOp>(read.getVariable());
    return variable && variable.getKind() == VariableKind::Cache && variable.getRole() != VariableRole::Rounded;
  };
  DenseSet<Operation *> entries;
  module.walk([&](ReadOp read) {
    if (isCache(read))
      entries.insert(read->getParentOfType<func::FuncOp>());
  });
  return entries;
}

/// Returns the name of a matmul's run-time number of rows if its right side is static. Otherwise an empty name.
static StringRef rowsOfProduct(Type rows, Type rhs, bool transposeLhs) {
  auto left = cast<RankedTensorType>(rows), right = cast<RankedTensorType>(rhs);
  return !transposeLhs && left.isDynamicDim(0) && right.hasStaticShape() ? getSizeName(left, 0) : StringRef();
}

SizeOp heddle::findRowsOfProducts(KernelOp kernel) {
  StringRef size;
  bool isOne = true;
  auto add = [&](StringRef rows) {
    isOne &= !rows.empty() && (size.empty() || size == rows);
    size = rows;
  };
  for (Operation &op : kernel.getBody().front()) {
    if (auto product = dyn_cast<MatmulOp>(op))
      add(rowsOfProduct(product.getLhs().getType(), product.getRhs().getType(), product.getTransposeLhs()));
    if (auto product = dyn_cast<GroupedMatmulOp>(op))
      add(rowsOfProduct(product.getLhs().getType(), product.getRhs().getType(), product.getTransposeLhs()));
    if (auto project = dyn_cast<ProjectOp>(op))
      add(rowsOfProduct(project.getInput().getType(), project.getWeights().getType(), /*transposeLhs=*/false));
  }
  auto declared = isOne && !size.empty() ? kernel->getParentOfType<ModuleOp>().lookupSymbol<SizeOp>(size) : SizeOp();
  bool isOfRepeat = kernel->getParentOfType<RepeatOp>() != nullptr;
  bool isPart = declared && declared.getOfAttr() && getFactorOfSize(size).second == 1;
  return declared && !isOfRepeat && !isPart && !declared.getFixed() ? declared : SizeOp();
}

SizeOp heddle::getSizeWithin(SizeOp size, int64_t from, int64_t most) {
  std::string name = (size.getSymName() + "_" + Twine(from + 1) + "_to_" + Twine(most)).str();
  auto module = size->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<SizeOp>(name))
    return known;
  OpBuilder after(size.getContext());
  after.setInsertionPointAfter(size);
  auto of = size.getOfAttr() ? size.getOfAttr() : FlatSymbolRefAttr::get(size);
  return SizeOp::create(after, size.getLoc(), name, most, /*longest=*/StringAttr(), /*fixed=*/false, of, from,
                        /*within=*/true, static_cast<int64_t>(size.getTimes()));
}

ArrayAttr heddle::restrictGrid(ArrayAttr grid, SizeOp whole, SizeOp within) {
  SmallVector<tile::GridAttr> axes(grid.getAsRange<tile::GridAttr>());
  auto along = [&](int64_t tile, int64_t repeat) {
    return tile::GridAttr::get(grid.getContext(), within.getSymName(), tile, repeat);
  };
  bool isRestricted = false;
  for (tile::GridAttr &axis : axes)
    if (axis.getSize() == whole.getSymName()) {
      axis = along(axis.getTile(), axis.getRepeat());
      isRestricted = true;
    }
  // The tile is the size's maximum, so the axis has one tile in every call for these rows.
  for (tile::GridAttr &axis : axes)
    if (!isRestricted && axis.getSize().empty()) {
      axis = along(within.getMaximum(), axis.getRepeat());
      isRestricted = true;
    }
  return isRestricted ? Builder(grid.getContext()).getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end()))
                      : ArrayAttr();
}
