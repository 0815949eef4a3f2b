// What the compiler asks of a family of targets, whose kernels go the same way from lanes to code. A backend is a
// folder here (Vulkan/, CUDA/); docs/targets.md says how to add another.
#ifndef HEDDLE_COMPILER_TARGET_BACKEND_H
#define HEDDLE_COMPILER_TARGET_BACKEND_H

#include "compiler/Target/KernelCode.h"
#include "compiler/Target/TargetProfile.h"

namespace mlir {
class DialectRegistry;
class Location;
class Operation;
class OpPassManager;

namespace heddle {

class Backend {
public:
  virtual ~Backend() = default;

  /// What the names of its targets begin with, before a colon. The runtime's backend for their devices has this name
  /// too (runtime/hal/Backend.h).
  virtual StringRef getName() const = 0;

  /// The targets that it brings along.
  virtual ArrayRef<TargetProfile> getProfiles() const = 0;

  /// The dialects of kernels as its lowering leaves them.
  virtual ArrayRef<StringLiteral> getKernelDialects() const = 0;
  /// Adds these dialects, and what serialising needs to know of them.
  virtual void registerDialects(DialectRegistry &registry) const = 0;
  /// Makes its passes known to heddle-opt.
  virtual void registerPasses() const = 0;

  /// Adds the passes that turn each tile.func of a module, whose tiles have layouts, into an op of its name that holds
  /// the kernel in the target's own instructions. Launches find it by that name.
  virtual void buildLowering(OpPassManager &passes, const TargetProfile &profile) const = 0;

  /// The code of such an op. Failure comes after an emitted error. Kernels are serialised in parallel.
  virtual LogicalResult serialize(Operation *kernel, const TargetProfile &profile, KernelCode &code) const = 0;

  /// Gives the code's entry point the kernel's name, where profilers show it. Kernels that were alike in all but their
  /// names are one by then.
  virtual void nameEntry(KernelCode &) const {}

  /// Whether an assembler, a program of the target's maker, can make binaries of the code.
  virtual bool hasAssembler() const { return false; }
  /// Sets the binary, and what the assembler says of it. Failure comes after an error at `loc`. Kernels are assembled
  /// in parallel.
  virtual LogicalResult assemble(StringRef assembler, const TargetProfile &profile, Location loc,
                                 KernelCode &code) const;
};

/// Adds a backend and its targets. It lives as long as the program. A program does this before it compiles; Heddle's
/// own backends are registered with its passes and dialects (Pipeline/Registration.cpp).
void registerBackend(const Backend &backend);

ArrayRef<const Backend *> getBackends();

/// The backend that makes code for the target of this name; null where there is none.
const Backend *findBackend(StringRef target);
/// The same of a profile that compiles.
const Backend &getBackend(const TargetProfile &profile);

} // namespace heddle
} // namespace mlir

#endif
