#include "compiler/Program/Emit/KernelTable.h"

#include "compiler/Target/Backend.h"
#include "compiler/Target/KernelAction.h"
#include "dialects/Plan/Plan.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace mlir::heddle;

LogicalResult KernelTable::build(MutableArrayRef<PlannedTarget> planned, StringRef assembler) {
  llvm::SetVector<StringAttr> names;
  ModuleOp first = planned.front().module;
  for (auto entry : first.getOps<plan::EntryOp>())
    entry.walk([&](plan::LaunchOp launch) { names.insert(launch.getKernelAttr().getAttr()); });

  std::vector<std::vector<KernelCode>> codes(planned.size());
  for (auto [target, kernels] : llvm::zip(planned, codes)) {
    SmallVector<Operation *> modules;
    SymbolTable symbols(target.module);
    for (StringAttr name : names) {
      modules.push_back(symbols.lookup(name));
      if (!modules.back())
        return target.module.emitError() << "target " << target.profile->name << " has no kernel '" << name.getValue()
                                         << "'";
    }
    kernels.resize(modules.size());
    if (modules.empty())
      continue;
    MLIRContext *context = target.module.getContext();
    const Backend &backend = getBackend(*target.profile);
    if (failed(failableParallelForEachN(context, 0, modules.size(), [&](size_t i) {
          kernels[i].name = names[i].str();
          return runKernelAction(context, "serialize", names[i].getValue(),
                                 [&] { return backend.serialize(modules[i], *target.profile, kernels[i]); });
        })))
      return failure();
  }

  // Merge kernels that are identical in every target.
  std::map<std::vector<std::pair<uint32_t, ArrayRef<uint32_t>>>, uint32_t, decltype([](const auto &a, const auto &b) {
             return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](auto &x, auto &y) {
               if (x.first != y.first)
                 return x.first < y.first;
               return std::lexicographical_compare(x.second.begin(), x.second.end(), y.second.begin(), y.second.end());
             });
           })>
      known;
  targets.resize(planned.size());
  SmallVector<size_t> kept;
  for (auto [number, name] : llvm::enumerate(names)) {
    std::vector<std::pair<uint32_t, ArrayRef<uint32_t>>> key;
    for (const auto &kernels : codes)
      key.push_back({kernels[number].lanes, kernels[number].words});
    auto [place, isNew] = known.try_emplace(std::move(key), kept.size());
    if (isNew)
      kept.push_back(number);
    indices[name] = place->second;
  }
  for (auto [kernels, into] : llvm::zip(codes, targets))
    for (size_t number : kept)
      into.push_back(std::move(kernels[number]));

  SmallVector<std::pair<const TargetProfile *, KernelCode *>> assembled;
  for (auto [target, kernels] : llvm::zip(planned, targets))
    for (KernelCode &code : kernels) {
      const Backend &backend = getBackend(*target.profile);
      backend.nameEntry(code); // after merging, because kernels that differ only in their names are identical
      if (!assembler.empty() && backend.hasAssembler())
        assembled.push_back({target.profile, &code});
    }
  return failableParallelForEach(first.getContext(), assembled, [&](auto pair) {
    auto [profile, code] = pair;
    return runKernelAction(first.getContext(), "assemble", code->name, [profile, code, assembler, &first] {
      return getBackend(*profile).assemble(assembler, *profile, first.getLoc(), *code);
    });
  });
}
