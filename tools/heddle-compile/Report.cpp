#include "tools/heddle-compile/Report.h"

#include "compiler/Lanes/LowerToLanes.h"
#include "compiler/Program/Planning/EntryGraph.h"
#include "dialects/Heddle/Heddle.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::heddle;

std::string mlir::heddle::formatBytes(int64_t bytes) {
  constexpr int64_t kibi = 1024, mebi = 1024 * kibi;
  if (bytes < kibi)
    return llvm::formatv("{0} B", bytes);
  if (bytes < mebi)
    return llvm::formatv("{0:F1} KiB", double(bytes) / kibi);
  return llvm::formatv("{0:F1} MiB", double(bytes) / mebi);
}

static int64_t bytesOf(VariableOp variable) {
  RankedTensorType type = variable.getTensorType();
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

int64_t mlir::heddle::countSteps(plan::LaunchOp launch) {
  auto repeat = dyn_cast<plan::RepeatOp>(launch->getParentOp());
  return repeat ? static_cast<int64_t>(repeat.getSteps()) : 1;
}

SizeMaxima mlir::heddle::getLargestCall(ModuleOp module) {
  SizeMaxima sizes = getSizeMaxima(module);
  for (auto size : module.getOps<SizeOp>())
    if (size.getWithin() && static_cast<int64_t>(size.getMaximum()) != sizes.lookup(*size.getOf()))
      sizes[size.getSymName()] = 0;
  return sizes;
}

bool mlir::heddle::runsIn(plan::LaunchOp launch, const SizeMaxima &sizes) {
  return llvm::all_of(launch.getGrid().getAsRange<tile::GridAttr>(), [&](tile::GridAttr axis) {
    auto size = sizes.find(axis.getSize());
    return size == sizes.end() || size->second != 0;
  });
}

/// Adds the names of the variables that the entry's launches use.
static void addVariables(plan::EntryOp entry, llvm::StringSet<> &names) {
  entry.walk([&](plan::LaunchOp launch) {
    for (auto binding : launch.getBindings().getAsRange<plan::BindingAttr>())
      if (binding.getSpace() == plan::Space::Variable)
        names.insert(binding.getName());
  });
}

namespace {

/// An arena shared by several entries: each block has the size of the largest that an entry needs.
class SharedArena {
public:
  void add(plan::EntryOp entry) {
    SmallVector<int64_t> needed = entry.getBlockBytes();
    blocks.resize(std::max(blocks.size(), needed.size()));
    for (auto [bytes, more] : llvm::zip_first(needed, blocks))
      more = std::max(more, bytes);
  }
  int64_t getBytes() const { return llvm::sum_of(blocks, int64_t(0)); }

private:
  SmallVector<int64_t> blocks; // bytes
};

} // namespace

static bool isOfTraining(VariableOp variable) {
  VariableKind kind = variable.getKind();
  return kind == VariableKind::OptimizerState || kind == VariableKind::Gradient || kind == VariableKind::Counter;
}

MemoryByPurpose MemoryByPurpose::of(ModuleOp module) {
  struct Use {
    llvm::StringSet<> variables;
    SharedArena arena;
    int64_t bytes(ModuleOp module) const {
      int64_t sum = arena.getBytes();
      for (auto variable : module.getOps<VariableOp>())
        if (variables.contains(variable.getSymName()))
          sum += bytesOf(variable);
      return sum;
    }
  };
  llvm::StringSet<> ofTraining;
  for (auto variable : module.getOps<VariableOp>())
    if (isOfTraining(variable))
      ofTraining.insert(variable.getSymName());
  Use training, inference;
  for (auto entry : module.getOps<plan::EntryOp>()) {
    if (entry.getSymName() == "init") // it uses all variables
      continue;
    llvm::StringSet<> variables;
    addVariables(entry, variables);
    bool trains = llvm::any_of(variables.keys(), [&](StringRef name) { return ofTraining.contains(name); });
    Use &use = trains ? training : inference;
    use.arena.add(entry);
    use.variables.insert_range(variables.keys());
  }
  return {training.variables.empty() ? 0 : training.bytes(module),
          inference.variables.empty() ? 0 : inference.bytes(module)};
}

EntryTotals::EntryTotals(plan::EntryOp entry, const SizeMaxima &maxima)
    : memory(static_cast<int64_t>(entry.getArenaBytes())) {
  llvm::StringSet<> names, variables;
  addVariables(entry, variables);
  entry.walk([&](plan::LaunchOp launch) {
    int64_t steps = countSteps(launch);
    barriers += steps * launch.getBarrier();
    if (!runsIn(launch, maxima))
      return;
    launches += steps;
    kernels += names.insert(launch.getKernel()).second;
    if (auto cost = launch->getAttrOfType<CostAttr>(kCostAttrName)) {
      flops += steps * evaluateAtMaximum(cost.getFlops(), maxima);
      modelFlops += steps * evaluateAtMaximum(cost.getModel(), maxima);
      bytes += steps * evaluateAtMaximum(cost.getBytes(), maxima);
    }
  });
  for (auto variable : entry->getParentOfType<ModuleOp>().getOps<VariableOp>())
    if (variables.contains(variable.getSymName()))
      memory += bytesOf(variable);
}

DeviceMemory DeviceMemory::of(ModuleOp module) {
  DeviceMemory memory;
  for (auto variable : module.getOps<VariableOp>()) {
    if (variable.getStorageAttr()) // counted with its storage
      continue;
    int64_t bytes = bytesOf(variable);
    switch (variable.getKind()) {
    case VariableKind::Weight:
    case VariableKind::Frozen:
      memory.weights += bytes;
      break;
    case VariableKind::OptimizerState:
    case VariableKind::Gradient:
    case VariableKind::Counter:
      memory.state += bytes;
      break;
    case VariableKind::Cache:
      memory.caches += bytes;
      break;
    }
  }
  SharedArena arena;
  uint64_t largest = 0;
  for (auto entry : module.getOps<plan::EntryOp>()) {
    arena.add(entry);
    if (entry.getArenaBytes() > largest) {
      memory.kept = static_cast<int64_t>(entry.getKeptBytes());
      largest = entry.getArenaBytes();
    }
  }
  memory.workspace = arena.getBytes() - memory.kept;
  return memory;
}

std::string DeviceMemory::describe() const {
  return formatBytes(total()) + " = weights " + formatBytes(weights) + " + optimizer state " + formatBytes(state) +
         " + caches " + formatBytes(caches) + " + activations " + formatBytes(kept) + " + workspace " +
         formatBytes(workspace);
}

static int64_t bytesOf(plan::CollectiveOp collective) {
  int64_t bytes = 0;
  for (auto binding : collective.getFrom().getAsRange<plan::BindingAttr>())
    bytes += binding.getBytes();
  return bytes;
}

/// Writes an entry's launches and collectives in order: the kernel, FLOPs and bytes of each launch (for launches shared
/// out among ranks, the total of all ranks), and the bytes of each collective. For matmuls with producers, also the
/// steps of a tile, and how many matmuls share a launch if several do.
static void writeOrder(llvm::json::OStream &json, plan::EntryOp entry, const SizeMaxima &maxima) {
  SymbolTable symbols(entry->getParentOfType<ModuleOp>());
  json.attributeArray("order", [&] {
    entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto collective = dyn_cast<plan::CollectiveOp>(op))
        json.object([&] { json.attribute(plan::stringifyCollective(collective.getWhat()), bytesOf(collective)); });
      auto launch = dyn_cast<plan::LaunchOp>(op);
      if (!launch || !runsIn(launch, maxima))
        return;
      auto cost = launch->getAttrOfType<CostAttr>(kCostAttrName);
      for (int64_t step = 0, steps = countSteps(launch); step < steps; ++step)
        json.object([&] {
          json.attribute("kernel", launch.getKernel());
          json.attribute("flops", cost ? evaluateAtMaximum(cost.getFlops(), maxima) : 0);
          json.attribute("bytes", cost ? evaluateAtMaximum(cost.getBytes(), maxima) : 0);
          Operation *kernel = symbols.lookup(launch.getKernel());
          for (auto [name, attribute] : {std::pair("steps", kStepsName), std::pair("matmuls", kMatmulsName)})
            if (auto number = kernel ? kernel->getAttrOfType<IntegerAttr>(attribute) : IntegerAttr())
              json.attribute(name, number.getInt());
          if (launch.getShardAttr())
            json.attribute("shared_out", true);
        });
    });
  });
}

void mlir::heddle::writeReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled) {
  llvm::json::OStream json(stream, 2);
  json.arrayBegin();
  for (auto [profile, module] : llvm::zip(line.targets, compiled.modules)) {
    SizeMaxima maxima = getLargestCall(*module);
    for (auto entry : module->getOps<plan::EntryOp>()) {
      EntryTotals totals(entry, maxima);
      json.object([&] {
        json.attribute("target", profile->name);
        json.attribute("entry", entry.getSymName());
        json.attribute("launches", totals.launches);
        json.attribute("barriers", totals.barriers);
        json.attribute("kernels", totals.kernels);
        json.attribute("flops", totals.flops);
        json.attribute("model_flops", totals.modelFlops);
        json.attribute("bytes", totals.bytes);
        json.attribute("arena_bytes", static_cast<int64_t>(entry.getArenaBytes()));
        json.attributeArray("arena_blocks", [&] {
          for (int64_t bytes : entry.getBlockBytes())
            json.value(bytes);
        });
        json.attribute("memory_bytes", totals.memory);
        writeOrder(json, entry, maxima);
      });
    }
  }
  json.arrayEnd();
  stream << "\n";
}

void mlir::heddle::printReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled, double seconds) {
  const Artifact &artifact = compiled.artifact;
  stream << line.output << ": " << artifact.entries << " entries, " << artifact.launches << " launches, "
         << artifact.kernels << " kernels (" << formatBytes(artifact.codeBytes) << " of code), "
         << formatBytes(artifact.bytes.size()) << ", compiled in " << llvm::formatv("{0:F1} s\n", seconds);
  for (auto [profile, module] : llvm::zip(line.targets, compiled.modules)) {
    stream << profile->name << ": device memory " << DeviceMemory::of(*module).describe() << "\n";
    if (MemoryByPurpose memory = MemoryByPurpose::of(*module); memory.training && memory.inference)
      stream << "  training takes " << formatBytes(memory.training) << ", inference " << formatBytes(memory.inference)
             << "\n";
    SizeMaxima maxima = getLargestCall(*module);
    for (auto entry : module->getOps<plan::EntryOp>()) {
      EntryTotals totals(entry, maxima);
      stream << "  " << entry.getSymName() << ": " << totals.launches << " launches of " << totals.kernels
             << " kernels, " << llvm::formatv("{0:F2} GFLOP, ", double(totals.flops) * 1e-9)
             << formatBytes(totals.bytes) << " read and written, " << formatBytes(totals.memory) << " of device memory";
      if (SmallVector<int64_t> blocks = entry.getBlockBytes(); blocks.size() > 1)
        stream << ", the arena in " << blocks.size() << " blocks of at most "
               << formatBytes(*llvm::max_element(blocks));
      stream << "\n";
    }
  }
}
