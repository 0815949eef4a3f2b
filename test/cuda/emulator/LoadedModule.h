// A module loaded by a context: its variables in device memory, and its kernels as host code.
#pragma once

#include "test/cuda/emulator/Translate.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace llvm::orc {
class LLJIT;
}

namespace heddle::emulator {

// Shared memory that a kernel may declare or use without cuFuncSetAttribute.
constexpr uint32_t kStaticSharedLimit = 48 << 10;

class LoadedModule;

struct Kernel {
  LoadedModule *module = nullptr;
  std::string name;
  const Function *function = nullptr;
  KernelLayout layout;
  uint32_t maxThreads = 1024;   // from its directives
  uint32_t maxDynamicBytes = 0; // limit of launches; cuFuncSetAttribute raises it
  void (*code)(Thread *) = nullptr;

  // Compiles the kernel at the first call.
  void (*compiled())(Thread *);
  // Registers per thread, counted by ptxas if it is available, otherwise the kernel's limit. The first call runs ptxas.
  uint32_t registers();
  // Returns true if a processor has registers for a block of this many threads. Without ptxas, returns true if they may
  // fit.
  bool fits(uint64_t threads);
  // Returns the most threads of a block.
  uint32_t mostThreads();

private:
  uint32_t counted();
  std::optional<uint32_t> byPtxas;
};

class LoadedModule {
public:
  // Parses and translates everything, so that anything unknown is reported now. Throws PtxError.
  LoadedModule(const std::string &text, unsigned deviceTarget);
  ~LoadedModule();

  Kernel *find(const std::string &name);
  // Finds the device address and size of a variable. Returns false if there is none of that name.
  bool findGlobal(const std::string &name, uint64_t &address, uint64_t &size) const;
  bool races() const { return layout.races; }
  bool usesAsyncProxy() const { return layout.async; }
  bool checksInitialised() const { return layout.initialised; }

private:
  friend struct Kernel;
  void placeGlobals();
  void freeGlobals();

  std::string text;
  Module ptx;
  ModuleLayout layout;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::mutex compiling;
};

} // namespace heddle::emulator
