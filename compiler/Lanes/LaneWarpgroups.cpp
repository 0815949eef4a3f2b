// Lowers matmuls of warpgroups to one lane. A wgmma instruction multiplies 64 rows by up to 256 columns, 32 bytes deep:
// 16 elements of 16 bits, or 8 of tf32. It reads the right operand from shared memory, and the left one from there or
// from registers. A descriptor says where an operand lies in shared memory, in the panels of #tile.swizzled.
//
// Each of the four subgroups has 16 neighbouring rows of an instruction's result, and of a left operand in registers:
// #tile.fragment with `rows = 16`.
#include "compiler/Lanes/Warpgroups.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kPiece = tile::FragmentAttr::kPiece, kSubgroup = tile::FragmentAttr::kLanes;
constexpr int64_t kRows = tile::kWarpgroupRows, kDepthBytes = 32;    // of an instruction
constexpr int64_t kRowBytes = 2 * tile::SwizzledAttr::kPanelColumns; // of a panel

int64_t bytesOf(Type element) { return element.getIntOrFloatBitWidth() / 8; }

LLVM::InlineAsmOp assembly(OpBuilder &builder, Location loc, TypeRange results, ValueRange operands, StringRef code,
                           StringRef constraints) {
  return LLVM::InlineAsmOp::create(builder, loc, results, operands, code, constraints, /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr());
}

/// Emits instructions that change the elements of `sums`, pairs of f32. In `code` these are $0, $1 and so on; the
/// numbers in `more` come last. With `overwrites` the instructions do not read the old sums.
void changeByAssembly(LaneBuilder &b, MutableArrayRef<Value> sums, bool overwrites, StringRef code, ValueRange more) {
  SmallVector<Value> operands;
  size_t count = 2 * sums.size();
  // The first instruction of several may write a sum before a later one reads the last of `more`.
  SmallVector<std::string> constraints(count, overwrites ? "=&f" : "=f");
  if (!overwrites)
    for (auto [i, sum] : llvm::enumerate(sums))
      for (int64_t element : {0, 1}) {
        operands.push_back(b.extract(sum, element));
        constraints.push_back(std::to_string(2 * i + element));
      }
  for (Value value : more)
    constraints.push_back(value.getType().isInteger(64) ? "l" : "r");
  llvm::append_range(operands, more);
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, b.getF32Type()));
  Value results = assembly(b, b.getLoc(), type, operands, code, llvm::join(constraints, ",")).getRes();
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value pair[2];
    for (int64_t element : {0, 1})
      pair[element] = LLVM::ExtractValueOp::create(b, results, 2 * i + element);
    sum = b.assemble(sum.getType(), pair);
  }
}

/// An operand's tile in shared memory.
class Operand {
  static constexpr int64_t kUnit = 16; // bytes

public:
  Operand(LaneBuilder &b, TypedValue<MemRefType> memory, Value row, bool isTurned)
      : isTurned(isTurned), rows(tile::getSwizzle(memory.getType()).getPanelRows()),
        bytes(bytesOf(memory.getType().getElementType())) {
    // A descriptor has 14 bits for the address, in units of 16 bytes. In a cluster the upper bits of an address say
    // whose shared memory it is.
    Value start =
        arith::AndIOp::create(b, memref::ExtractAlignedPointerAsIndexOp::create(b, memory), b.index((1 << 18) - 1));
    first = arith::AddIOp::create(b, arith::DivUIOp::create(b, start, b.index(kUnit)),
                                  b.scaled(row, bytes * memory.getType().getDimSize(1) / kUnit));
  }

  /// The descriptor of block `block`, 64 rows (64 columns if the operand is turned), from index `k` of the contracted
  /// dimension on. Block 0 of a right operand is the whole operand.
  Value describe(LaneBuilder &b, Value block, int64_t k) const {
    int64_t blockBytes = isTurned ? rows * kRowBytes : kRows * kRowBytes;
    int64_t inRow = k * bytes;
    int64_t offset = isTurned ? k * kRowBytes : inRow / kRowBytes * rows * kRowBytes + inRow % kRowBytes;
    // Strides in units of 16 bytes, from one panel of a turned operand to the next and from eight rows to the next, and
    // a 128-byte swizzle. A row of a turned operand is one place of the contracted dimension. Other operands are read
    // along their rows, one panel at a time.
    int64_t panelBytes = isTurned ? rows * kRowBytes : 16;
    constexpr int64_t swizzle = int64_t(1) << 62, pieceBytes = kPiece * kRowBytes;
    // The constants are added last and to the lower word only: a descriptor is then one addition.
    Value units = arith::AddIOp::create(b, first, b.scaled(block, blockBytes / kUnit));
    Value low = b.add(units, (panelBytes / kUnit) << 16 | offset / kUnit);
    Value wide = arith::IndexCastUIOp::create(b, b.getI64Type(), low);
    return arith::OrIOp::create(b, wide,
                                arith::ConstantIntOp::create(b, b.getI64Type(), swizzle | (pieceBytes / kUnit) << 32));
  }

private:
  bool isTurned;
  int64_t rows;  // of a panel
  int64_t bytes; // of an element
  Value first;   // the address in units
};

/// The operands of an instruction: on the left a descriptor or four registers, on the right a descriptor.
struct Operands {
  SmallVector<Value, 4> left;
  Value right;
};

/// The lane's pieces of block m, 64 rows of a tile in registers, beginning at place `k` of the contracted dimension.
SmallVector<Value, 4> piecesOf(LaneBuilder &b, RankedTensorType tile, ValueRange values, int64_t m, int64_t k) {
  Registers registers(tile, values);
  SmallVector<Value, 4> pieces;
  for (int64_t run : {0, 1})
    for (int64_t row : {0, 1}) {
      Value pair = registers.at(2 * m + row, k / kPiece + run);
      Value number = vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()), pair);
      pieces.push_back(b.extract(number, 0));
    }
  return pieces;
}

/// Starts `sums` += the products of each block of 64 rows. The fence is in the same assembly, so that no write to
/// these registers can come between it and the products.
void multiply(LaneBuilder &b, tile::WarpgroupDotOp op, MutableArrayRef<Value> sums,
              ArrayRef<SmallVector<Operands>> blocks, int64_t columns) {
  // The instruction takes a lane's elements by groups of eight columns, both rows of a group together; `sums` has
  // them row by row.
  int64_t runs = columns / kPiece;
  auto sumsOf = [&](size_t block) {
    SmallVector<Value *> places;
    for (int64_t run = 0; run < runs; ++run)
      for (int64_t half : {0, 1})
        places.push_back(&sums[(2 * block + half) * runs + run]);
    return places;
  };
  SmallVector<Value> ordered;
  for (size_t block = 0; block < blocks.size(); ++block)
    for (Value *sum : sumsOf(block))
      ordered.push_back(*sum);
  size_t count = 2 * ordered.size();
  // If the accumulator is zero, the first instruction overwrites the sums, and no register has to hold zeros.
  bool overwrites = llvm::all_of(sums, [](Value sum) { return matchPattern(sum, m_AnyZeroFloat()); });
  std::string code = "{\n.reg .pred adds;\nwgmma.fence.sync.aligned;\n";
  Type type = op.getRhs().getType().getElementType();
  StringRef element = type.isBF16() ? "bf16" : type.isF16() ? "f16" : "tf32";
  // Operands of tf32 are read along the K dimension, and the instruction has no flags to transpose them.
  auto flags = [&](bool isMemory) -> std::string {
    if (type.isF32())
      return "";
    std::string left = isMemory ? (op.getTransposeLhs() ? ", 1" : ", 0") : "";
    return left + (op.getTransposeRhs() ? ", 0" : ", 1");
  };
  SmallVector<Value> more;
  auto name = [&](Value value) {
    more.push_back(value);
    return llvm::formatv("${0}", (overwrites ? 1 : 2) * count + more.size() - 1).str();
  };
  for (auto [block, operands] : llvm::enumerate(blocks)) {
    std::string registers;
    for (size_t i = 0; i < count / blocks.size(); ++i)
      registers += llvm::formatv("{0}${1}", i ? ", " : "", block * (count / blocks.size()) + i);
    for (auto [i, pair] : llvm::enumerate(operands)) {
      if (i == 0 || (i == 1 && overwrites))
        code += llvm::formatv("setp.ne.b32 adds, {0}, 0;\n", i == 0 && overwrites ? 0 : 1);
      SmallVector<std::string> left = llvm::map_to_vector(pair.left, name);
      std::string right = name(pair.right);
      bool isMemory = left.size() == 1;
      code += llvm::formatv("wgmma.mma_async.sync.aligned.m64n{0}k{1}.f32.{2}.{2} {{{3}}, {4}, {5}, adds, 1, 1{6};\n",
                            columns, kDepthBytes / bytesOf(type), element, registers,
                            isMemory ? left[0] : "{" + llvm::join(left, ", ") + "}", right, flags(isMemory));
    }
  }
  changeByAssembly(b, ordered, overwrites, code + "}", more);
  auto changed = ordered.begin();
  for (size_t block = 0; block < blocks.size(); ++block)
    for (Value *sum : sumsOf(block))
      *sum = *changed++;
}

Lowered lowerWarpgroupDot(LaneBuilder &b, const Lanes &lanes, tile::WarpgroupDotOp op,
                          RegistersOf<tile::WarpgroupDotOp> adaptor) {
  auto type = cast<RankedTensorType>(op.getType());
  tile::LaneShape shape = tile::getLaneShape(type);
  int64_t columns = type.getDimSize(1), depth = op.getDepth();
  SmallVector<Value> sums(adaptor.getAccumulator());
  std::optional<Operand> left;
  if (auto memory = dyn_cast<TypedValue<MemRefType>>(op.getLhs()))
    left.emplace(b, memory, op.getLhsRow(), op.getTransposeLhs());
  Operand right(b, op.getRhs(), op.getRhsRow(), !op.getTransposeRhs());
  constexpr int64_t lanesOfOne = 4 * kSubgroup;
  int64_t warpgroups = lanes.count() / lanesOfOne;
  SmallVector<SmallVector<Operands>> blocks(shape.rows / 2);
  for (auto [m, operands] : llvm::enumerate(blocks)) {
    Value block = b.add(lanes.warpgroup(), m * warpgroups);
    for (int64_t k = 0; k < depth; k += kDepthBytes / bytesOf(op.getRhs().getType().getElementType()))
      operands.push_back({left ? SmallVector<Value, 4>{left->describe(b, block, k)}
                               : piecesOf(b, typeOf(op.getLhs()), adaptor.getLhs(), m, k),
                          right.describe(b, b.index(0), k)});
  }
  multiply(b, op, sums, blocks, columns);
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
  return sums;
}

Lowered lowerWarpgroupFence(LaneBuilder &b, const Lanes &, tile::WarpgroupFenceOp op,
                            RegistersOf<tile::WarpgroupFenceOp> adaptor) {
  SmallVector<Value> sums(adaptor.getSum());
  changeByAssembly(b, sums, /*overwrites=*/false, "wgmma.fence.sync.aligned;", {});
  return sums;
}

Lowered lowerWarpgroupWait(LaneBuilder &b, const Lanes &, tile::WarpgroupWaitOp op,
                           RegistersOf<tile::WarpgroupWaitOp> adaptor) {
  if (!op.getSum()) {
    NVVM::WgmmaWaitGroupSyncOp::create(b, op.getPending());
    return SmallVector<Value>();
  }
  // The waiting instruction takes the sums and returns them, so that nothing can read them before.
  SmallVector<Value> sums(adaptor.getSum());
  changeByAssembly(b, sums, /*overwrites=*/false,
                   llvm::formatv("wgmma.wait_group.sync.aligned {0};", op.getPending()).str(), {});
  return sums;
}

} // namespace

void heddle::fenceOperands(OpBuilder &builder, Location loc) {
  assembly(builder, loc, {}, {}, "fence.proxy.async.shared::cta;", "~{memory}");
}

void heddle::populateLaneWarpgroupPatterns(const TypeConverter &converter, const Lanes &lanes,
                                           RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerWarpgroupDot, lowerWarpgroupFence, lowerWarpgroupWait);
}
