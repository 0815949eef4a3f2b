// Lowers matmuls on tensor cores (mma.sync), and the shared memory that their operands come through, to one lane. The
// 16 rows of an instruction are two of a lane's rows in #tile.fragment, and its depth of 16 is two of a lane's runs.
//
// For tf32 the depth is 8, and the instruction wants elements l % 4 and l % 4 + 4 of a piece's row in lane l. It gets
// the lane's two neighbouring elements of both operands instead, because the order of the summands does not matter.
#include "compiler/Lanes/Lanes.h"
#include "compiler/Lanes/Warpgroups.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kPiece = tile::FragmentAttr::kPiece;
constexpr int64_t kUnrolledCopies = 8; // of a subgroup, in a loop

/// Joins registers side by side, as an instruction takes them. A number counts as a register of one element.
Value join(LaneBuilder &b, ArrayRef<Value> registers) {
  auto part = dyn_cast<VectorType>(registers.front().getType());
  auto type = VectorType::get({static_cast<int64_t>(registers.size()), part ? part.getDimSize(0) : 1},
                              getElementTypeOrSelf(registers.front().getType()));
  Value joined = ub::PoisonOp::create(b, type);
  for (int64_t i = 0; i < type.getDimSize(0); ++i)
    joined = vector::InsertOp::create(b, registers[i], joined,
                                      part ? SmallVector<int64_t, 2>{i} : SmallVector<int64_t, 2>{i, 0});
  return joined;
}

Lowered lowerFragmentDot(LaneBuilder &b, const Lanes &, tile::DotOp op, RegistersOf<tile::DotOp> adaptor) {
  Registers lhs(typeOf(op.getLhs()), adaptor.getLhs()), rhs(typeOf(op.getRhs()), adaptor.getRhs());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  SmallVector<Value> sums(adaptor.getAccumulator());
  bool halves = isTensorOperand(op.getLhs().getType()); // 16-bit operands, not tf32
  const int64_t extents[] = {2 * kPiece, kPiece, halves ? 2 * kPiece : kPiece};
  auto operand = [&](const Registers &from, ArrayRef<int64_t> rows, int64_t k) {
    SmallVector<Value> parts;
    for (int64_t part : {0, 1})
      for (int64_t row : rows)
        parts.push_back(halves ? from.at(row, k + part) : b.extract(from.at(row, k), part));
    return join(b, parts);
  };
  for (int64_t k = 0; k < lhs.shape.runs; k += halves ? 2 : 1)
    for (int64_t i = 0; i < shape.rows; i += 2) {
      Value left = operand(lhs, {i, i + 1}, k);
      for (int64_t j = 0; j < shape.runs; ++j) {
        Value right = operand(rhs, {j}, k);
        Value &upper = sums[i * shape.runs + j], &lower = sums[(i + 1) * shape.runs + j];
        Value sum = nvgpu::MmaSyncOp::create(b, left, right, join(b, {upper, lower}), ArrayRef(extents),
                                             /*tf32Enabled=*/!halves);
        upper = vector::ExtractOp::create(b, sum, 0);
        lower = vector::ExtractOp::create(b, sum, 1);
      }
    }
  return sums;
}

//===-- Shared memory -------------------------------------------------------------------------------------------===//

/// The places of groups of 16 bytes in shared memory, as #tile.swizzled describes them. If rows are in order, each group
/// stays where it is.
class Swizzle {
public:
  explicit Swizzle(MemRefType memory)
      : panelColumns(heddle::panelColumns(memory.getElementType())), ofGroup(panelColumns / kPiece) {
    tile::SwizzledAttr layout = tile::getSwizzle(memory);
    panelRows = layout ? layout.getPanelRows() : 0;
    groups = std::max<int64_t>(1, (panelRows ? panelColumns : memory.getDimSize(1)) / ofGroup);
    exchanged = layout ? std::min<int64_t>(groups, kPiece) : 1;
  }

  /// The offset of group `group` in a row (of a panel). `row` may be counted from any multiple of eight.
  Value inRow(LaneBuilder &b, Value group, Value row) const {
    int64_t rowsOfBanks = std::max<int64_t>(1, panelColumns / (groups * ofGroup));
    Value key =
        b.createOrFold<arith::RemUIOp>(b.createOrFold<arith::DivUIOp>(row, b.index(rowsOfBanks)), b.index(exchanged));
    return arith::MulIOp::create(b, arith::XOrIOp::create(b, group, key), b.index(ofGroup));
  }

  /// The offset of group `group` + `more`, given the offset `place` of `group`. The two numbers must have no bit in
  /// common. All addresses are then one address XOR a number, or plus a constant that the load takes.
  Value further(LaneBuilder &b, Value place, int64_t more) const {
    int64_t low = more % exchanged;
    if (low != 0)
      place = arith::XOrIOp::create(b, place, b.index(low * ofGroup));
    return b.add(place, (more - low) * ofGroup);
  }

  /// The memory's row and column of group `group` of row `first` + `done` of the tile that begins at row `tile`.
  std::array<Value, 2> inMemory(LaneBuilder &b, Value tile, Value first, int64_t done, Value group) const {
    if (panelRows == 0)
      return {b.add(arith::AddIOp::create(b, tile, first), done), inRow(b, group, b.add(first, done))};
    Value panel = b.createOrFold<arith::DivUIOp>(group, b.index(groups)), inPanel = b.remainder(group, groups);
    // Whole pieces of rows do not change the swizzle. They are added last, so that the addresses share the rest.
    int64_t whole = done / kPiece * kPiece;
    Value row = b.add(first, done - whole);
    Value line = arith::AddIOp::create(b, b.scaled(panel, panelRows), row);
    Value place = arith::AddIOp::create(b, b.scaled(line, panelColumns), inRow(b, inPanel, row));
    return {tile, b.add(place, whole * panelColumns)};
  }

private:
  int64_t panelColumns, ofGroup; // elements of 128 and of 16 bytes
  int64_t panelRows;
  int64_t groups, exchanged; // the groups of a row of a panel, and how many of them the swizzle exchanges
};

/// Lowers to ldmatrix: each lane gives the address of a row of eight elements of one of four pieces, and gets its part
/// of all four.
Lowered lowerSharedLoad(LaneBuilder &b, const Lanes &lanes, tile::LoadOp op, RegistersOf<tile::LoadOp>) {
  if (!tile::getSwizzle(op.getMemory().getType()))
    return failure();
  RankedTensorType tile = op.getType();
  tile::LaneShape shape = tile::getLaneShape(tile);
  Swizzle swizzle(op.getMemory().getType());
  auto layout = cast<tile::FragmentAttr>(tile.getEncoding());
  tile::Distribution rows = layout.distribute(0);
  Value lane = lanes.number(), piece = arith::DivUIOp::create(b, b.remainder(lane, lanes.subgroup()), b.index(kPiece));
  Value inPiece = b.remainder(lane, kPiece);
  // The four pieces are two of the lane's rows by two of its runs. An instruction takes registers side by side: both
  // rows of a run for the left operand, both runs of a row for the right one.
  int64_t rowPieces = shape.rows % 2 == 0 ? 2 : 1;
  bool isRight = layout.getSubgroups() == 1; // each subgroup has the whole tile
  int64_t rowStep = isRight ? 2 : 1, runStep = isRight ? 1 : rowPieces;
  auto bitOf = [&](int64_t step, int64_t count) {
    return b.remainder(b.createOrFold<arith::DivUIOp>(piece, b.index(step)), count);
  };
  Value ofRow = bitOf(rowStep, rowPieces), ofRun = bitOf(runStep, 2);
  // Further subgroups have further rows.
  Value subgroup = isRight ? b.index(0) : arith::DivUIOp::create(b, lane, b.index(lanes.subgroup())).getResult();
  Value firstRow = b.scaled(ofRow, rows.step(1));
  firstRow = arith::AddIOp::create(b, firstRow, b.scaled(subgroup, layout.getRows()));

  // Terms that differ between registers are added last, so that the addresses share the rest.
  Value base = arith::AddIOp::create(b, op.getTransposed() ? b.scaled(ofRun, kPiece) : firstRow, inPiece);
  base = arith::AddIOp::create(b, op.getRow(), base);

  // The lane's part of a group's number, and the offset of that group.
  Value group = op.getTransposed() ? arith::DivUIOp::create(b, firstRow, b.index(kPiece)).getResult() : ofRun;
  Value place = swizzle.inRow(b, group, inPiece);

  SmallVector<Value> registers(shape.count());
  auto type = VectorType::get({2 * rowPieces, 2}, tile.getElementType());
  for (int64_t run = 0; run < shape.runs; run += 2)
    for (int64_t i = 0; i < shape.rows; i += rowPieces) {
      // The piece for run r starts at column 8 * r.
      Value row = b.add(base, op.getTransposed() ? run * kPiece : rows.step(i));
      Value column = swizzle.further(b, place, op.getTransposed() ? rows.step(i) / kPiece : run);
      Value pieces =
          nvgpu::LdMatrixOp::create(b, type, op.getMemory(), ValueRange{row, column},
                                    static_cast<bool>(op.getTransposed()), static_cast<uint32_t>(2 * rowPieces));
      for (int64_t part = 0; part < 2 * rowPieces; ++part)
        registers[(i + part / rowStep % rowPieces) * shape.runs + run + part / runStep % 2] =
            vector::ExtractOp::create(b, pieces, part);
    }
  return registers;
}

/// Stores a tile of f32 that tensor cores read as tf32. They ignore the low bits, so the lane rounds its elements.
Lowered lowerRoundedStore(LaneBuilder &b, const Lanes &lanes, tile::StoreOp op, RegistersOf<tile::StoreOp> adaptor) {
  if (!tile::getSwizzle(op.getMemory().getType()))
    return failure();
  RankedTensorType tile = typeOf(op.getValue());
  tile::LaneShape shape = tile::getLaneShape(tile);
  tile::Distribution rows = tile::getDistribution(tile, 0);
  LanePlace place(b, lanes, tile, b.index(0), b.index(0));
  Swizzle swizzle(op.getMemory().getType());
  Registers registers(tile, adaptor.getValue());
  for (int64_t run = 0; run < shape.runs; ++run) {
    Value group = arith::DivUIOp::create(b, place.column(b, run), b.index(shape.vector));
    for (int64_t i = 0; i < shape.rows; ++i) {
      SmallVector<Value> elements;
      for (int64_t element = 0; element < shape.vector; ++element) {
        Value rounded = NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(), b.extract(registers.at(i, run), element),
                                                           NVVM::FPRoundingMode::RNA);
        elements.push_back(arith::BitcastOp::create(b, b.getF32Type(), rounded));
      }
      vector::StoreOp::create(b, b.assemble(getRegisterType(tile), elements), op.getMemory(),
                              swizzle.inMemory(b, op.getRow(), place.row(b, 0), rows.step(i), group));
    }
  }
  // ptxas would move the loads of the next tile up, and need registers for two tiles.
  NVVM::SyncWarpOp::create(b, arith::ConstantIntOp::create(b, b.getI32Type(), -1));
  return SmallVector<Value>();
}

/// Copies group `group` of row `first` + `done` of the tile.
void copy(LaneBuilder &b, tile::CopyOp op, Value first, int64_t done, Value group) {
  int64_t elements = std::min(kCopyElements, op.getShared().getType().getDimSize(1));
  Value fromRow = b.add(arith::AddIOp::create(b, op.getRow(), first), done);
  Value fromColumn = arith::AddIOp::create(b, op.getColumn(), b.scaled(group, kCopyElements));
  // A copy of zero elements reads nothing, so addresses need not be clamped: each row's address is the first row's
  // plus a constant.
  Value count;
  if (Value limit = op.getColumnLimit()) {
    Value left = arith::SubIOp::create(b, limit, fromColumn);
    count = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, left, b.index(0)), b.index(elements));
  }
  if (Value limit = op.getRowLimit())
    count = arith::SelectOp::create(b, b.less(fromRow, limit), count ? count : b.index(elements), b.index(0));
  std::array<Value, 2> to = Swizzle(op.getShared().getType()).inMemory(b, op.getTo(), first, done, group);
  MemberPlace member = MemberPlace::of(b, op, fromRow);
  nvgpu::DeviceAsyncCopyOp::create(b, op.getShared(), to, op.getMemory(),
                                   ValueRange{member.row, member.column(b, fromColumn)}, b.getIndexAttr(elements),
                                   count, elements == kCopyElements ? b.getUnitAttr() : UnitAttr());
}

/// Each of the n lanes that share the copy copies every n-th group of eight elements, or every n-th element of a single
/// column.
Lowered lowerCopy(LaneBuilder &b, const Lanes &lanes, tile::CopyOp op, RegistersOf<tile::CopyOp>) {
  int64_t groups = std::max<int64_t>(1, op.getShared().getType().getDimSize(1) / kCopyElements);
  int64_t rows = op.getRows(), count = op.getOfSubgroup() ? lanes.subgroup() : lanes.count();
  int64_t rowsAtOnce = std::max<int64_t>(1, count / groups);
  Value lane = op.getOfSubgroup() ? b.remainder(lanes.number(), lanes.subgroup()) : lanes.number();
  Value group = b.remainder(lane, groups);
  Value firstRow = arith::DivUIOp::create(b, lane, b.index(groups));
  // The lanes of a subgroup have many copies each, whose addresses would not fit into the few registers of a producer.
  if (int64_t step = kUnrolledCopies * rowsAtOnce; op.getOfSubgroup() && rows > step && rows % step == 0) {
    auto loop = scf::ForOp::create(b, b.index(0), b.index(rows), b.index(step));
    LaneBuilder inner(op.getLoc(), b);
    inner.setInsertionPointToStart(loop.getBody());
    Value from = arith::AddIOp::create(inner, loop.getInductionVar(), firstRow);
    for (int64_t done = 0; done < step; done += rowsAtOnce)
      copy(inner, op, from, done, group);
    return SmallVector<Value>();
  }
  for (int64_t done = 0; done < rows; done += rowsAtOnce) {
    if (done + rowsAtOnce <= rows) {
      copy(b, op, firstRow, done, group);
      continue;
    }
    auto branch = scf::IfOp::create(b, b.less(b.add(firstRow, done), b.index(rows)), /*withElseRegion=*/false);
    LaneBuilder inner(op.getLoc(), b);
    inner.setInsertionPointToStart(branch.thenBlock());
    copy(inner, op, firstRow, done, group);
  }
  return SmallVector<Value>();
}

Lowered lowerCommit(LaneBuilder &b, const Lanes &, tile::CommitOp op, RegistersOf<tile::CommitOp>) {
  NVVM::CpAsyncCommitGroupOp::create(b);
  return SmallVector<Value>();
}

Lowered lowerWait(LaneBuilder &b, const Lanes &lanes, tile::WaitOp op, RegistersOf<tile::WaitOp>) {
  if (lanes.hasCopies())
    NVVM::CpAsyncWaitGroupOp::create(b, static_cast<uint32_t>(op.getPending()));
  if (lanes.hasWarpgroups())
    fenceOperands(b, op.getLoc());
  gpu::BarrierOp::create(b);
  return SmallVector<Value>();
}

} // namespace

void heddle::populateLaneFragmentPatterns(const TypeConverter &converter, const Lanes &lanes,
                                          RewritePatternSet &patterns) {
  addLowerings<tile::FragmentAttr>(patterns, converter, lanes, /*benefit=*/2, lowerFragmentDot, lowerSharedLoad);
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerCopy, lowerCommit, lowerWait);
  addLowerings(patterns, converter, lanes, /*benefit=*/2, lowerRoundedStore);
}
