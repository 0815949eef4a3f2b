#include "compiler/Target/Backend.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::heddle;

static SmallVector<const Backend *> &backends() {
  static SmallVector<const Backend *> all;
  return all;
}

LogicalResult Backend::assemble(StringRef, const TargetProfile &profile, Location loc, KernelCode &code) const {
  return emitError(loc) << "kernel '" << code.name << "': target " << profile.name << " has no assembler";
}

void heddle::registerBackend(const Backend &backend) {
  if (llvm::any_of(backends(), [&](const Backend *other) { return other->getName() == backend.getName(); }))
    llvm::reportFatalUsageError("there are two backends '" + Twine(backend.getName()) + "'");
  backends().push_back(&backend);
  for (const TargetProfile &profile : backend.getProfiles())
    registerTarget(profile);
}

void heddle::registerTarget(const TargetProfile &profile) {
  if (!findBackend(profile.name))
    llvm::reportFatalUsageError("target '" + Twine(profile.name) + "' has no backend: its name begins with that of a " +
                                "backend, and a colon");
  addTargetProfile(profile);
}

ArrayRef<const Backend *> heddle::getBackends() { return backends(); }

const Backend *heddle::findBackend(StringRef target) {
  StringRef name = target.split(':').first;
  auto found = llvm::find_if(backends(), [&](const Backend *backend) { return backend->getName() == name; });
  return found == backends().end() ? nullptr : *found;
}

const Backend &heddle::getBackend(const TargetProfile &profile) {
  if (const Backend *backend = findBackend(profile.name))
    return *backend;
  llvm::reportFatalUsageError("no backend makes code for the target '" + Twine(profile.name) + "'");
}
