#include "test/cuda/emulator/LoadedModule.h"

#include "test/cuda/emulator/Memory.h"
#include "test/cuda/emulator/Registers.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace heddle::emulator {

namespace orc = llvm::orc;

namespace {

template <typename T> T check(llvm::Expected<T> result) {
  if (!result)
    throw PtxError(0, "the host's code generator failed: " + llvm::toString(result.takeError()));
  return std::move(*result);
}

void check(llvm::Error error) {
  if (error)
    throw PtxError(0, "the host's code generator failed: " + llvm::toString(std::move(error)));
}

// Optimises little: PTX is optimised already, a test runs a kernel only a few times, and code generation takes most of
// the time.
void optimise(llvm::Module &module) {
  llvm::PassBuilder passes;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graph, modules);
  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  pipeline.addPass(llvm::EarlyCSEPass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      pipeline.run(function, functions);
}

bool setting(const char *name, bool otherwise) {
  const char *value = std::getenv(name);
  return value && *value ? std::strcmp(value, "0") != 0 : otherwise;
}

} // namespace

LoadedModule::LoadedModule(const std::string &text, unsigned deviceTarget) : text(text), ptx(parsePtx(text)) {
  // "sm_90a" runs only on 9.0.
  bool exact = std::isalpha(static_cast<unsigned char>(ptx.targetName.back()));
  if (ptx.target > deviceTarget || (exact && ptx.target != deviceTarget))
    throw TargetError(0, "the module is for " + ptx.targetName + ", the device is sm_" + std::to_string(deviceTarget));
  layout.ptx = &ptx;
  layout.races = setting("HEDDLE_EMULATOR_RACECHECK", false);
  layout.initialised = setting("HEDDLE_EMULATOR_INITCHECK", true);
  layout.placeShared();
  for (const Function &function : ptx.functions)
    for (const Instruction &instruction : function.body) {
      layout.dependent |= instruction.opcode[0] == "griddepcontrol";
      layout.async |=
          instruction.opcode[0] == "wgmma" || instruction.opcode[0] == "setmaxnreg" || instruction.has("bulk");
    }
  placeGlobals();
  try {
    static const bool once = [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
      return true;
    }();
    (void)once;
    auto machine = check(orc::JITTargetMachineBuilder::detectHost());
    machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
    jit = check(orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create());
    orc::SymbolMap symbols;
    for (const auto &[name, function] : supportFunctions())
      symbols[jit->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                             llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    check(jit->getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols))));
    jit->getIRTransformLayer().setTransform(
        [](orc::ThreadSafeModule module, const orc::MaterializationResponsibility &) {
          module.withModuleDo(optimise);
          return llvm::Expected<orc::ThreadSafeModule>(std::move(module));
        });
    for (const Function &function : ptx.functions) {
      if (!function.defined)
        continue;
      KernelLayout kernelLayout = layOutParameters(function);
      auto context = std::make_unique<llvm::LLVMContext>();
      auto translated = translate(layout, function, kernelLayout, *context);
      translated->setDataLayout(jit->getDataLayout());
      check(jit->addIRModule(orc::ThreadSafeModule(std::move(translated), std::move(context))));
      if (!function.entry)
        continue;
      if (kernelLayout.sharedBytes > kStaticSharedLimit)
        throw PtxError(function.line, function.name + " uses " + std::to_string(kernelLayout.sharedBytes) +
                                          " bytes of static shared memory; there are " +
                                          std::to_string(kStaticSharedLimit));
      auto kernel = std::make_unique<Kernel>();
      kernel->module = this;
      kernel->name = function.name;
      kernel->function = &function;
      kernel->layout = kernelLayout;
      const uint32_t *limit = function.requiredThreads[0] ? function.requiredThreads : function.maxThreads;
      if (limit[0])
        kernel->maxThreads = std::min(1024u, limit[0] * limit[1] * limit[2]);
      kernels[function.name] = std::move(kernel);
    }
  } catch (...) {
    freeGlobals();
    throw;
  }
}

LoadedModule::~LoadedModule() { freeGlobals(); }

void LoadedModule::placeGlobals() {
  Memory &memory = Memory::get();
  for (const Variable &variable : ptx.variables) {
    if ((variable.space != Space::Global && variable.space != Space::Const) || !variable.size)
      continue;
    // Variables without initialiser are zero.
    uint64_t address = memory.allocate(variable.size, true);
    if (!address)
      throw PtxError(variable.line, "no memory for " + variable.name);
    // Any kernel of the module may access it.
    memory.allow(address, variable.size, kMayRead | kMayWrite | kMayReadEarly | kMayWriteEarly);
    std::memset(reinterpret_cast<void *>(address), 0, variable.size);
    std::memcpy(reinterpret_cast<void *>(address), variable.data.data(), variable.data.size());
    layout.globals[variable.name] = address;
  }
  for (const Variable &variable : ptx.variables)
    for (const Variable::Relocation &relocation : variable.relocations) {
      auto found = layout.globals.find(relocation.symbol);
      if (found == layout.globals.end())
        throw PtxError(variable.line, "unknown name " + relocation.symbol);
      uint64_t value = found->second + relocation.addend;
      std::memcpy(reinterpret_cast<void *>(layout.globals.at(variable.name) + relocation.offset), &value, 8);
    }
}

void LoadedModule::freeGlobals() {
  for (const auto &[name, address] : layout.globals)
    Memory::get().release(address);
  layout.globals.clear();
}

Kernel *LoadedModule::find(const std::string &name) {
  auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : found->second.get();
}

bool LoadedModule::findGlobal(const std::string &name, uint64_t &address, uint64_t &size) const {
  auto found = layout.globals.find(name);
  if (found == layout.globals.end())
    return false;
  address = found->second;
  size = ptx.findVariable(name)->size;
  return true;
}

uint32_t Kernel::counted() {
  std::lock_guard lock(module->compiling);
  if (!byPtxas)
    byPtxas = registersByPtxas(module->text, module->ptx.targetName, name);
  return *byPtxas;
}

uint32_t Kernel::registers() {
  uint32_t count = counted();
  return count ? count : registerLimit(*function);
}

bool Kernel::fits(uint64_t threads) {
  return hasRegistersFor(threads, registerLimit(*function)) || hasRegistersFor(threads, counted());
}

uint32_t Kernel::mostThreads() {
  uint32_t threads = maxThreads;
  while (threads > 32 && !fits(threads))
    threads = (threads - 1) / 32 * 32;
  return threads;
}

void (*Kernel::compiled())(Thread *) {
  std::lock_guard lock(module->compiling);
  if (!code)
    code = check(module->jit->lookup(name)).toPtr<void (*)(Thread *)>();
  return code;
}

} // namespace heddle::emulator
