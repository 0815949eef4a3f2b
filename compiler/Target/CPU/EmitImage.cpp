#include "compiler/Target/CPU/EmitImage.h"

#include "compiler/Target/CPU/LinkImage.h"
#include "compiler/Target/CodeCache.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace mlir;
using namespace mlir::heddle;

static constexpr StringLiteral kEntryName = "main";

/// An image is preceded by four words: the magic number, the version of the calling convention, the offset of the entry
/// point, and the image's size in bytes (runtime/hal/cpu/README.md).
static constexpr uint32_t kMagic = 0x55504348, kVersion = 1;

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    // A pass that reassociates sums of integers to shorten chains. Dots of integers then need more registers than there
    // are. LLVM has only a command-line option for it.
    if (llvm::cl::Option *combiner = llvm::cl::getRegisteredOptions().lookup("x86-machine-combiner"))
      combiner->addOccurrence(/*pos=*/0, combiner->ArgStr, "false");
  });
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const TargetProfile &profile, std::string &problem) {
  initializeTargets();
  bool isArm = profile.chip == "aarch64";
  llvm::Triple triple(isArm ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu");
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // Contract a multiplication and an addition into one fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  // The tiny code model addresses constants relative to the code, without page relocations (ADRP).
  auto model = isArm ? llvm::CodeModel::Tiny : llvm::CodeModel::Small;
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(triple, isArm ? StringRef("generic") : StringRef(profile.chip), profile.features,
                                   options, llvm::Reloc::PIC_, model, llvm::CodeGenOptLevel::Default));
}

/// Sets the attributes of code that runs without a library and uses the widest vectors of the processor. The stack is
/// aligned to them: otherwise each spilled vector lies in two cache lines.
static void describe(llvm::Function &function, const TargetProfile &profile) {
  function.setName(kEntryName);
  function.addFnAttr("no-builtins");
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr("min-legal-vector-width", "512");
  llvm::Align vector(sizeof(float) * static_cast<uint64_t>(profile.vector));
  function.addFnAttr(llvm::Attribute::getWithStackAlignment(function.getContext(), vector));
  if (profile.chip != "aarch64")
    function.addFnAttr("target-cpu", profile.chip);
  if (!profile.features.empty())
    function.addFnAttr("target-features", profile.features);
}

/// Runs a few cheap passes. Kernels are loops over vectors already, so little is left but address folding. Unrolling
/// and vectorising would defeat the choice of tiles.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl libraries(module.getTargetTriple());
  libraries.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(libraries); });
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

LogicalResult heddle::emitImage(LLVM::LLVMFuncOp kernel, const TargetProfile &profile,
                                SmallVectorImpl<uint32_t> &words) {
  std::string problem;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(profile, problem);
  if (!machine)
    return kernel.emitError() << "LLVM has no backend for " << profile.chip << ": " << problem;
  OwningOpRef<ModuleOp> alone(ModuleOp::create(kernel.getLoc()));
  alone->push_back(kernel->clone());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*alone, context, kernel.getName());
  if (!module)
    return failure();
  module->setSourceFileName(""); // kernels that differ only in their names are identical
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *module)
    if (!function.isDeclaration())
      describe(function, profile);
  SmallVector<char, 0> object;
  auto compile = [&](SmallVectorImpl<char> &bytes) -> LogicalResult {
    optimize(*module, *machine);
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
      return kernel.emitError() << "LLVM cannot write code for " << profile.chip;
    passes.run(*module);
    return success();
  };
  if (failed(compileOnce(*module, profile.chip, compile, object)))
    return failure();
  llvm::Expected<CodeImage> image = linkImage(StringRef(object.data(), object.size()), kEntryName);
  if (!image)
    return kernel.emitError() << "kernel '" << kernel.getName() << "': " << llvm::toString(image.takeError());

  constexpr size_t headerWords = 4;
  words.assign(headerWords + llvm::divideCeil(image->bytes.size(), sizeof(uint32_t)), 0);
  words[0] = kMagic;
  words[1] = kVersion;
  words[2] = image->entry;
  words[3] = static_cast<uint32_t>(image->bytes.size());
  std::memcpy(words.data() + headerWords, image->bytes.data(), image->bytes.size());
  return success();
}

void heddle::registerImageTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}
