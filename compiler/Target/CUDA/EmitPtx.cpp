#include "compiler/Target/CUDA/LowerToNvvm.h"

#include "compiler/Target/CodeCache.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <algorithm>
#include <mutex>

using namespace mlir;
using namespace mlir::heddle;

static void initializeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static std::unique_ptr<llvm::TargetMachine> createMachine(NVVM::NVVMTargetAttr target, std::string &problem) {
  initializeBackend();
  llvm::Triple triple(target.getTriple());
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // Contract a multiplication and an addition into one fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(triple, target.getChip(), target.getFeatures(), options, std::nullopt, std::nullopt,
                                   llvm::CodeGenOptLevel::Aggressive));
}

/// Keeps LLVM and ptxas from unrolling loops. A step of the K loop is long already and leaves no registers for a second
/// one, but ptxas unrolls loops with few iterations.
static void keepLoops(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    llvm::DominatorTree tree(function);
    llvm::LoopInfo loops(tree);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.disable");
  }
}

/// Marks inline assembly with `.aligned` instructions convergent: all lanes of a warp must execute them together, so
/// LLVM must not move them into a divergent branch. MLIR's LLVM dialect has no attribute for this.
static void keepTogether(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = dyn_cast<llvm::CallInst>(&instruction))
        if (auto *assembly = dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
            assembly && StringRef(assembly->getAsmString()).contains(".aligned"))
          call->setConvergent();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

LogicalResult heddle::emitPtx(gpu::GPUModuleOp kernel, std::string &ptx) {
  auto target = cast<NVVM::NVVMTargetAttr>(kernel.getTargetsAttr()[0]);
  std::string problem;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, problem);
  if (!machine)
    return kernel.emitError() << "LLVM has no backend for " << target.getChip() << ": " << problem;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernel, context, kernel.getName());
  if (!module)
    return failure();
  module->setSourceFileName(""); // kernels that differ only in their names are identical
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  if (kernel->hasAttr(kSharedBytesName))
    keepLoops(*module);
  keepTogether(*module);

  SmallVector<char, 0> text;
  auto compile = [&](SmallVectorImpl<char> &bytes) -> LogicalResult {
    optimize(*module, *machine);
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
      return kernel.emitError() << "LLVM cannot write PTX for " << target.getChip();
    passes.run(*module);
    return success();
  };
  if (failed(compileOnce(*module, (target.getChip() + target.getFeatures()).str(), compile, text)))
    return failure();
  ptx.assign(text.data(), text.size());
  return success();
}

std::string heddle::getEntryName(StringRef kernel) {
  std::string name = "heddle_" + kernel.str();
  std::ranges::replace_if(name, [](char c) { return !llvm::isAlnum(c); }, '_');
  return name;
}

std::string heddle::renameEntry(StringRef ptx, StringRef name) {
  // Parameters are called `main_param_0` and so on. The names of registers and labels start with `%` or `$`.
  auto isPart = [](char c) { return llvm::isAlnum(c) || StringRef("_$%.").contains(c); };
  std::string parameter = (kEntryName + "_param_").str(), text;
  while (!ptx.empty()) {
    size_t length = ptx.find_if(isPart) == 0 ? std::min(ptx.find_if_not(isPart), ptx.size())
                                             : std::min(ptx.find_if(isPart), ptx.size());
    StringRef word = ptx.take_front(length);
    ptx = ptx.drop_front(length);
    bool isEntry = word == kEntryName || word.starts_with(parameter);
    if (isEntry)
      text += name;
    text += isEntry ? word.drop_front(kEntryName.size()) : word;
  }
  return text;
}

void heddle::registerPtxTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}
