// Lowers mbarriers, at which producers and consumers of a kernel wait for each other, to one lane.
#include "compiler/Lanes/Lanes.h"
#include "compiler/Lanes/Warpgroups.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kBytes = 8; // of an mbarrier

/// The address of mbarrier `number` in shared memory, as an i32.
Value addressOf(LaneBuilder &b, Value barriers, Value number) {
  Value first = memref::ExtractAlignedPointerAsIndexOp::create(b, barriers);
  Value address = b.createOrFold<arith::AddIOp>(first, b.scaled(number, kBytes));
  return arith::IndexCastUIOp::create(b, b.getI32Type(), address);
}

/// No access to memory moves across the instruction.
Value assembly(LaneBuilder &b, TypeRange results, ValueRange operands, StringRef code, StringRef constraints) {
  auto op = LLVM::InlineAsmOp::create(b, results, operands, code, (constraints + ",~{memory}").str(),
                                      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                      LLVM::AsmDialectAttr(), ArrayAttr());
  return results.empty() ? Value() : op.getRes();
}

Value isLane(LaneBuilder &b, Value lane, int64_t number) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, b.index(number));
}

Lowered lowerInit(LaneBuilder &b, const Lanes &lanes, tile::MbarrierInitOp op, RegistersOf<tile::MbarrierInitOp>) {
  auto branch = scf::IfOp::create(b, isLane(b, lanes.number(), 0), /*withElseRegion=*/false);
  LaneBuilder inner(op.getLoc(), b);
  inner.setInsertionPointToStart(branch.thenBlock());
  for (int64_t i = 0; i < op.getBarriers().getType().getDimSize(0); ++i)
    assembly(inner, {}, addressOf(inner, op.getBarriers(), inner.index(i)),
             llvm::formatv("mbarrier.init.shared::cta.b64 [$0], {0};", op.getArrivals()).str(), "r");
  return SmallVector<Value>();
}

/// One lane of the subgroup arrives. The instruction is not in a branch, because in a loop ptxas would not let a wgmma
/// run across it.
Lowered lowerArrive(LaneBuilder &b, const Lanes &lanes, tile::MbarrierArriveOp op,
                    RegistersOf<tile::MbarrierArriveOp>) {
  if (op.getCopied()) {
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    fenceOperands(b, op.getLoc());
  }
  NVVM::SyncWarpOp::create(b, b.constant(b.getI32Type(), -1)); // all lanes of the subgroup
  Value arrives = isLane(b, b.remainder(lanes.number(), lanes.subgroup()), 0);
  if (Value condition = op.getCondition())
    arrives = arith::AndIOp::create(b, arrives, condition);
  assembly(b, {}, {addressOf(b, op.getBarriers(), op.getNumber()), arith::ExtUIOp::create(b, b.getI32Type(), arrives)},
           "{\n.reg .pred arrives;\nsetp.ne.b32 arrives, $1, 0;\n"
           "@arrives mbarrier.arrive.shared::cta.b64 _, [$0];\n}",
           "r,r");
  return SmallVector<Value>();
}

/// The instruction may give up after some time, so it stands in a loop.
Lowered lowerWait(LaneBuilder &b, const Lanes &, tile::MbarrierWaitOp op, RegistersOf<tile::MbarrierWaitOp>) {
  Value address = addressOf(b, op.getBarriers(), op.getNumber());
  Value parity = arith::IndexCastUIOp::create(b, b.getI32Type(), op.getParity());
  auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
  LaneBuilder inner(op.getLoc(), b);
  inner.createBlock(&loop.getBefore());
  Value done = assembly(inner, inner.getI32Type(), {address, parity},
                        "{\n.reg .pred done;\nmbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2;\n"
                        "selp.b32 $0, 1, 0, done;\n}",
                        "=r,r,r");
  Value zero = inner.constant(inner.getI32Type(), 0);
  scf::ConditionOp::create(inner, arith::CmpIOp::create(inner, arith::CmpIPredicate::eq, done, zero), ValueRange());
  inner.createBlock(&loop.getAfter());
  scf::YieldOp::create(inner);
  return SmallVector<Value>();
}

Lowered lowerRegisters(LaneBuilder &b, const Lanes &, tile::RegistersOp op, RegistersOf<tile::RegistersOp>) {
  NVVM::SetMaxRegisterOp::create(b, static_cast<uint32_t>(op.getCount()),
                                 op.getMore() ? NVVM::SetMaxRegisterAction::increase
                                              : NVVM::SetMaxRegisterAction::decrease);
  return SmallVector<Value>();
}

} // namespace

void heddle::populateLaneMbarrierPatterns(const TypeConverter &converter, const Lanes &lanes,
                                          RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerInit, lowerArrive, lowerWait, lowerRegisters);
}
