// A backend: the interface through which the compiler lowers and serialises kernels for a family of targets. Each
// backend is a folder here (Vulkan/, CUDA/, CPU/). docs/targets.md says how to add one.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "compiler/Target/KernelCode.h"

namespace mlir {
class DialectRegistry;
class Location;
class Operation;
class OpPassManager;

namespace heddle {

class Backend {
public:
  virtual ~Backend() = default;

  /// The backend's name. Its targets are called "NAME:...", and the runtime's backend for their devices has the same
  /// name (runtime/hal/Backend.h).
  virtual StringRef getName() const = 0;

  /// The targets of this backend.
  virtual ArrayRef<TargetProfile> getProfiles() const = 0;

  /// The dialects that kernels consist of after the backend's lowering.
  virtual ArrayRef<StringLiteral> getKernelDialects() const = 0;
  /// Registers these dialects and the translations that serialisation needs.
  virtual void registerDialects(DialectRegistry &registry) const = 0;
  /// Registers the backend's passes with heddle-opt.
  virtual void registerPasses() const = 0;

  /// Adds the passes that replace each tile.func of a module by an op of the same name that holds the kernel in the
  /// target's own instructions. The tiles already have layouts. Launches find the op by its name.
  virtual void buildLowering(OpPassManager &passes, const TargetProfile &profile) const = 0;

  /// Writes the code of an op that the lowering made into `code`. Emits an error if it fails. Kernels are serialised in
  /// parallel.
  virtual LogicalResult serialize(Operation *kernel, const TargetProfile &profile, KernelCode &code) const = 0;

  /// Names the code's entry point after the kernel, for backends whose profilers show that name. Identical kernels have
  /// been merged before.
  virtual void nameEntry(KernelCode &) const {}

  /// Returns true if a vendor's assembler can turn the code into a binary.
  virtual bool hasAssembler() const { return false; }
  /// Sets the binary and the register counts that the assembler reports. Emits an error at `loc` if it fails. Kernels
  /// are assembled in parallel.
  virtual LogicalResult assemble(StringRef assembler, const TargetProfile &profile, Location loc,
                                 KernelCode &code) const;
};

/// Registers a backend and its targets. Call it before compiling; the backend must live as long as the program.
/// Heddle's own backends are registered in Pipeline/Registration.cpp.
void registerBackend(const Backend &backend);

/// Registers a target. Call it before compiling and after registering its backend; the profile must live as long as the
/// program. The shipped targets are registered with their backends.
void registerTarget(const TargetProfile &profile);

ArrayRef<const Backend *> getBackends();

/// The backend of the target called `target`; null if there is none.
const Backend *findBackend(StringRef target);
/// The backend of a registered profile.
const Backend &getBackend(const TargetProfile &profile);

} // namespace heddle
} // namespace mlir
