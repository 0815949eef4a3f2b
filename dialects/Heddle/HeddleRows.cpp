// Which ops can be computed for some rows of a batch alone.
#include "dialects/Heddle/Heddle.h"

using namespace mlir;
using namespace mlir::heddle;

using IsOfRows = llvm::function_ref<bool(Value)>;

bool MatmulOp::isRowwise(IsOfRows isOfRows) { return !getTransposeLhs() && !isOfRows(getRhs()); }

bool SumOp::isRowwise(IsOfRows isOfRows) { return getColumns(); }

/// The columns, heads or keys of a row; a column of row indices would begin anew with each row.
bool IotaOp::isRowwise(IsOfRows isOfRows) {
  return getDim() != 0 || cast<RankedTensorType>(getType()).hasStaticShape();
}

bool EmbeddingOp::isRowwise(IsOfRows isOfRows) { return !isOfRows(getTable()); }

/// What is drawn depends on the row's place in the batch.
bool RandomOp::isRowwise(IsOfRows isOfRows) { return false; }

/// Each row says its number, and has its noise wherever it stands.
bool GumbelOp::isRowwise(IsOfRows isOfRows) { return true; }
