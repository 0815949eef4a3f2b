// A module that a context has loaded: its variables in device memory, its kernels as code of the host's.
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

// What a kernel may declare, and use without cuFuncSetAttribute.
constexpr uint32_t kStaticSharedLimit = 48 << 10;

class LoadedModule;

struct Kernel {
  LoadedModule *module = nullptr;
  std::string name;
  const Function *function = nullptr;
  KernelLayout layout;
  uint32_t maxThreads = 1024;   // as its directives say
  uint32_t maxDynamicBytes = 0; // how far launches may go; cuFuncSetAttribute raises it
  void (*code)(Thread *) = nullptr;

  // Compiles at the first call.
  void (*compiled())(Thread *);
  // Of a thread, by ptxas where there is one, else the most that the kernel may have. The first call asks ptxas.
  uint32_t registers();
  // Whether a processor has registers for a block of so many threads. Without ptxas a block that may fit does.
  bool fits(uint64_t threads);
  // Of a block.
  uint32_t mostThreads();

private:
  uint32_t counted();
  std::optional<uint32_t> byPtxas;
};

class LoadedModule {
public:
  // Parses and translates everything, so that whatever is not known is told now. Throws PtxError.
  LoadedModule(const std::string &text, unsigned deviceTarget);
  ~LoadedModule();

  Kernel *find(const std::string &name);
  // The device address and size of a variable; false if there is none of that name.
  bool findGlobal(const std::string &name, uint64_t &address, uint64_t &size) const;
  bool races() const { return layout.races; }
  bool hasWgmma() const { return layout.wgmma; }
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
