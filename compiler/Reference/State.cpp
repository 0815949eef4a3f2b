// Variables, views, and ops that hold other ops.
#include "compiler/Reference/Registry.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

static void readVariable(ReadOp op, Frame &frame) {
  Interpreter &interpreter = frame.getInterpreter();
  frame.set(op.getResult(), interpreter.getVariable(interpreter.findVariable(op.getVariable())));
}

static void writeVariable(WriteOp op, Frame &frame) {
  Interpreter &interpreter = frame.getInterpreter();
  interpreter.setVariable(interpreter.findVariable(op.getVariable()), frame.get(op.getValue()));
}

static void slice(SliceOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  auto first = static_cast<int64_t>(op.getFrom()) * result.width();
  for (int64_t i = 0; i < result.size(); ++i)
    result(i) = first + i < input.size() ? input(first + i) : 0;
}

static void reshape(ReshapeOp op, Frame &frame) {
  frame.make(op.getResult()).numbers = frame.get(op.getInput()).numbers;
}

/// Each part begins where the parts before it would end at their maxima. All chunks of a tensor before one with rows
/// are full, so each part can follow the one before it.
static void concat(ConcatOp op, Frame &frame) {
  Array &result = frame.make(op.getResult());
  int64_t next = 0;
  for (Value part : op.getParts())
    for (double number : frame.get(part).numbers)
      if (next < result.size())
        result(next++) = number;
}

static void empty(EmptyOp op, Frame &frame) { frame.make(op.getResult()); }

/// Runs an op that computes its results in a region, from its operands.
template <typename OpTy> static LogicalResult runRegion(OpTy op, Frame &frame) {
  SmallVector<Array> inputs;
  for (Value input : op->getOperands())
    inputs.push_back(frame.get(input));
  FailureOr<SmallVector<Array>> results = Frame(frame.getInterpreter(), nullptr).run(op.getBody().front(), inputs);
  if (failed(results))
    return failure();
  for (auto [result, array] : llvm::zip_equal(op->getResults(), *results))
    frame.set(result, std::move(array));
  return success();
}

/// There is one rank: its tensors are the sums, and it has made all rows.
template <typename Collective> static void collective(Collective op, Frame &frame) {
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    frame.set(result, frame.get(input));
}

void reference::addState(Registry &registry) {
  registry.add<readVariable, writeVariable, slice, reshape, concat, empty>();
  registry.add<runRegion<KernelOp>>();
  registry.add<runRegion<UpdateOp>>();
  registry.add<collective<AllReduceOp>>();
  registry.add<collective<ReduceScatterOp>>();
  registry.add<collective<AllGatherOp>>();
}
