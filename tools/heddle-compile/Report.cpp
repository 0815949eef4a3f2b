#include "tools/heddle-compile/Report.h"

#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::heddle;

static std::string formatBytes(int64_t bytes) {
  constexpr int64_t kibi = 1024, mebi = 1024 * kibi;
  if (bytes < kibi)
    return llvm::formatv("{0} B", bytes);
  if (bytes < mebi)
    return llvm::formatv("{0:F1} KiB", double(bytes) / kibi);
  return llvm::formatv("{0:F1} MiB", double(bytes) / mebi);
}

void mlir::heddle::printReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled, double seconds) {
  const Artifact &artifact = compiled.artifact;
  stream << line.output << ": " << artifact.entries << " entries, " << artifact.launches << " launches, "
         << artifact.kernels << " kernels (" << formatBytes(artifact.codeBytes) << " of code), "
         << formatBytes(artifact.bytes.size()) << ", compiled in " << llvm::formatv("{0:F1} s\n", seconds);
  for (auto [profile, module] : llvm::zip(line.targets, compiled.modules)) {
    int64_t weights = 0, state = 0, caches = 0, arena = 0, kept = 0;
    for (auto variable : module->getOps<VariableOp>()) {
      if (variable.getStorageAttr()) // its storage is counted
        continue;
      int64_t bytes = variable.getTensorType().getNumElements() * 4;
      switch (variable.getKind()) {
      case VariableKind::Weight:
        weights += bytes;
        break;
      case VariableKind::OptimizerState:
      case VariableKind::Gradient:
      case VariableKind::Counter:
        state += bytes;
        break;
      case VariableKind::Cache:
        caches += bytes;
        break;
      }
    }
    for (auto entry : module->getOps<plan::EntryOp>()) {
      if (static_cast<int64_t>(entry.getArenaBytes()) <= arena)
        continue;
      arena = entry.getArenaBytes();
      kept = entry->getAttrOfType<IntegerAttr>("kept_bytes").getInt();
    }
    stream << profile->name << ": device memory " << formatBytes(weights + state + caches + arena) << " = weights "
           << formatBytes(weights) << " + optimizer state " << formatBytes(state) << " + caches " << formatBytes(caches)
           << " + activations " << formatBytes(kept) << " + workspace " << formatBytes(arena - kept) << "\n";
  }
}
