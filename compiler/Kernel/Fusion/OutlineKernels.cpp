// Makes a kernel of each group, and emits remarks on the ops that joined it and those that could not.
#include "compiler/Kernel/Fusion/KernelGroups.h"

#include "compiler/Analysis/Locations/Locations.h"
#include "compiler/Kernel/Fusion/Remarks.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::heddle;

/// The anchor's name, then the names of other ops of its group: "matmul_addf_maximumf".
static std::string nameOf(const KernelGroup &group) {
  constexpr size_t maximum = 4;
  SmallVector<StringRef> names;
  Operation *anchor = group.anchor;
  if (anchor)
    names.push_back(anchor->getName().stripDialect());
  for (Operation *op : group.ops)
    if (op != anchor && names.size() < maximum)
      names.push_back(op->getName().stripDialect());
  return llvm::join(names, "_");
}

void KernelGroups::outline(KernelGroup &group) {
  if (group.ops.empty()) // its ops have joined another group
    return;
  llvm::SetVector<Value> inputs, outputs;
  SetVector<Operation *> body;
  for (Operation *op : group.ops)
    gather(op, group, body, inputs);
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      if (isUsedOutside(result, group))
        outputs.insert(result);
  if (outputs.empty()) // an anchor that nothing uses
    return;

  Operation *place = placeOf(group);
  OpBuilder builder(place);
  SmallVector<Operation *> placed{place};
  llvm::copy_if(group.ops, std::back_inserter(placed), [&](Operation *op) { return op != place; });
  auto kernel = KernelOp::create(builder, locationOfKernel(placed), ValueRange(outputs.getArrayRef()).getTypes(),
                                 nameOf(group), inputs.getArrayRef());
  Block *block = builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  for (Operation *op : body)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  YieldOp::create(builder, place->getLoc(), yielded);
  for (auto [output, result] : llvm::zip(outputs.takeVector(), kernel.getResults()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) { return groupOf.lookup(use.getOwner()) != &group; });
}

void KernelGroups::outline() {
  SmallVector<std::unique_ptr<KernelGroup>> done = std::move(groups);
  for (auto &group : done)
    outline(*group);
}

void KernelGroups::emitRemarks() {
  if (!remarks)
    return;
  constexpr StringLiteral pass = "fuse-kernels";
  for (auto &group : groups)
    if (group->ops.size() > 1) {
      SmallVector<StringRef> names;
      for (Operation *op : group->ops)
        names.push_back(op->getName().stripDialect());
      remarkFused(pass, placeOf(*group), llvm::join(names, ", "), "kernel " + nameOf(*group));
    }
  DenseSet<std::tuple<Operation *, Operation *, StringRef>> said; // an operand may be used twice
  for (const MissedFusion &miss : missed) {
    KernelGroup *own = groupOf.lookup(miss.op), *other = groupOf.lookup(miss.with);
    bool isApart = other && own != other; // false if it joined that kernel another way
    if (isApart && said.insert({miss.op, miss.with, miss.role}).second)
      remarkMissed(pass, miss.op,
                   Twine(miss.op->getName().stripDialect()) + " as " + miss.role + " of kernel " + nameOf(*other),
                   miss.reason);
  }
}
