// Images of kernels for processors: their header, constants and relocations, and errors for objects that an image
// cannot hold.
#include "runtime/hal/cpu/Image.h"
#include "compiler/Target/CPU/CpuBackend.h"
#include "compiler/Target/CPU/EmitImage.h"
#include "compiler/Target/CPU/LinkImage.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace mlir::heddle {
namespace {

using ::heddle::hal::cpu::checkImage;
using ::heddle::hal::cpu::ImageEntry;
using ::heddle::hal::cpu::ImageHeader;

const TargetProfile &profileOf(StringRef name) {
  for (const TargetProfile &profile : getCpuProfiles())
    if (profile.name == name)
      return profile;
  ADD_FAILURE() << "no target " << name.str();
  return getCpuProfiles().front();
}

// The code of a kernel with the given body, and the error, if any.
struct Emitted {
  SmallVector<uint32_t> words;
  std::string error;

  ArrayRef<char> image() const {
    return {reinterpret_cast<const char *>(words.data() + ImageHeader::kWords), size_t(words[3])};
  }
};

Emitted emit(StringRef target, StringRef body) {
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect>();
  registerImageTranslations(registry);
  MLIRContext context(registry);
  Emitted emitted;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { emitted.error += diagnostic.str(); });
  std::string text = "llvm.func @kernel(%bindings: !llvm.ptr, %grid: !llvm.ptr, %first: i32, %count: i32, "
                     "%scratch: !llvm.ptr) {\n" +
                     body.str() + "\n  llvm.return\n}";
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return emitted;
  LLVM::LLVMFuncOp kernel = *module->getOps<LLVM::LLVMFuncOp>().begin();
  EXPECT_EQ(succeeded(emitImage(kernel, profileOf(target), emitted.words)), emitted.error.empty());
  return emitted;
}

// Adds 1, 2, 4 and 8 to four numbers, then multiplies the sums by 3, 5, 7 and 9.
constexpr StringLiteral kConstants = R"(
  %place = llvm.load %bindings : !llvm.ptr -> !llvm.ptr
  %x = llvm.load %place {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
  %c = llvm.mlir.constant(dense<[1.0, 2.0, 4.0, 8.0]> : vector<4xf32>) : vector<4xf32>
  %d = llvm.mlir.constant(dense<[3.0, 5.0, 7.0, 9.0]> : vector<4xf32>) : vector<4xf32>
  %y = llvm.fadd %x, %c : vector<4xf32>
  %z = llvm.fmul %y, %d : vector<4xf32>
  llvm.store %z, %place {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr)";
constexpr float kAdded[] = {1, 2, 4, 8}, kFactors[] = {3, 5, 7, 9};

// Returns the offset of the bytes of `numbers` in the image; -1 if they are not there.
int64_t placeOf(ArrayRef<char> image, ArrayRef<float> numbers) {
  StringRef bytes(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float));
  size_t place = StringRef(image.data(), image.size()).find(bytes);
  return place == StringRef::npos ? -1 : static_cast<int64_t>(place);
}

TEST(EmitImage, TheHeaderIsWhatTheRuntimeExpects) {
  for (const TargetProfile &profile : getCpuProfiles()) {
    Emitted emitted = emit(profile.name, kConstants);
    ASSERT_EQ(emitted.error, "") << profile.name.str();
    ImageHeader header;
    EXPECT_EQ(checkImage({emitted.words.data(), emitted.words.size()}, header), "") << profile.name.str();
    EXPECT_EQ(emitted.words[0], ImageHeader::kMagic);
    EXPECT_EQ(emitted.words[1], ImageHeader::kVersion);
    EXPECT_EQ(emitted.words[2], header.entry);
    EXPECT_EQ(emitted.words.size(), ImageHeader::kWords + llvm::divideCeil(emitted.words[3], 4));
  }
  EXPECT_EQ(kImageAlignment, ::heddle::hal::cpu::kImageAlignment);
}

TEST(EmitImage, ConstantsAreInTheImage) {
  for (const TargetProfile &profile : getCpuProfiles()) {
    Emitted emitted = emit(profile.name, kConstants);
    ASSERT_EQ(emitted.error, "") << profile.name.str();
    for (ArrayRef<float> numbers : {ArrayRef(kAdded), ArrayRef(kFactors)}) {
      int64_t place = placeOf(emitted.image(), numbers);
      EXPECT_GE(place, 0) << profile.name.str();
      EXPECT_EQ(place % 16, 0) << profile.name.str();
    }
  }
}

// A bf16 constant is converted to i16 and keeps its bits.
TEST(EmitImage, ConstantsOfBf16KeepTheirBits) {
  constexpr StringLiteral body = R"(
  %place = llvm.load %bindings : !llvm.ptr -> !llvm.ptr
  %x = llvm.load %place {alignment = 2 : i64} : !llvm.ptr -> vector<8xi16>
  %c = llvm.mlir.constant(dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : vector<8xbf16>) : vector<8xi16>
  %y = llvm.xor %x, %c : vector<8xi16>
  llvm.store %y, %place {alignment = 2 : i64} : vector<8xi16>, !llvm.ptr)";
  constexpr uint32_t bits[] = {0x3f800000, 0x40404000, 0x40a04080, 0x40e040c0};
  ArrayRef<float> expected(reinterpret_cast<const float *>(bits), 4);
  for (const TargetProfile &profile : getCpuProfiles()) {
    Emitted emitted = emit(profile.name, body);
    ASSERT_EQ(emitted.error, "") << profile.name.str();
    EXPECT_GE(placeOf(emitted.image(), expected), 0) << profile.name.str();
  }
}

#if defined(__x86_64__)
TEST(EmitImage, AnImageRuns) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this processor has no AVX2";
  Emitted emitted = emit("cpu:x86-64-v3", kConstants);
  ASSERT_EQ(emitted.error, "");
  ArrayRef<char> image = emitted.image();
  void *memory = mmap(nullptr, image.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memcpy(memory, image.data(), image.size());
  ASSERT_EQ(mprotect(memory, image.size(), PROT_READ | PROT_EXEC), 0);
  float numbers[] = {10, 20, 30, 40};
  uint64_t bindings[] = {reinterpret_cast<uint64_t>(numbers)};
  uint32_t grid[] = {1, 1, 1};
  auto entry = reinterpret_cast<ImageEntry>(static_cast<char *>(memory) + emitted.words[2]);
  entry(bindings, grid, 0, 1, nullptr);
  munmap(memory, image.size());
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(numbers[i], (10.0f * static_cast<float>(i + 1) + kAdded[i]) * kFactors[i]);
}
#endif

// `adr` holds the distance to the constant in bytes: bits 0 and 1 are its bits 29 and 30, and the rest begins at bit 5.
TEST(EmitImage, RelocationsOfAArch64AreResolved) {
  Emitted emitted = emit("cpu:aarch64", kConstants);
  ASSERT_EQ(emitted.error, "");
  ArrayRef<char> image = emitted.image();
  std::vector<int64_t> places;
  for (size_t at = 0; at + 4 <= image.size(); at += 4) {
    uint32_t instruction = llvm::support::endian::read32le(image.data() + at);
    if ((instruction & 0x9f000000) == 0x10000000)
      places.push_back(static_cast<int64_t>(at) +
                       (llvm::SignExtend64<19>(instruction >> 5) * 4 | (instruction >> 29 & 3)));
  }
  std::vector<int64_t> expected = {placeOf(image, kAdded), placeOf(image, kFactors)};
  llvm::sort(places);
  llvm::sort(expected);
  EXPECT_EQ(places, expected);
}

// LLVM computes these with library functions.
TEST(EmitImage, AnErrorNamesKernelAndSymbol) {
  constexpr StringLiteral exponential = R"(
  %place = llvm.load %bindings : !llvm.ptr -> !llvm.ptr
  %x = llvm.load %place : !llvm.ptr -> f32
  %y = llvm.intr.exp(%x) : (f32) -> f32
  llvm.store %y, %place : f32, !llvm.ptr)";
  constexpr StringLiteral copy = R"(
  %n = llvm.zext %count : i32 to i64
  "llvm.intr.memcpy"(%scratch, %bindings, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ())";
  for (const TargetProfile &profile : getCpuProfiles()) {
    EXPECT_EQ(emit(profile.name, exponential).error,
              "kernel 'kernel': its code needs the symbol expf, and an image has no library");
    EXPECT_EQ(emit(profile.name, copy).error,
              "kernel 'kernel': its code needs the symbol memcpy, and an image has no library");
  }
}

// Returns the image of a module in LLVM's text form, or the error.
std::string link(StringRef text, StringRef entry = "main") {
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  if (!module)
    return diagnostic.getMessage().str();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "x86-64-v3", "", llvm::TargetOptions(), llvm::Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return "no object files";
  passes.run(*module);
  llvm::Expected<CodeImage> image = linkImage(StringRef(object.data(), object.size()), entry);
  return image ? "" : llvm::toString(image.takeError());
}

TEST(LinkImage, CodeAloneIsAnImage) { EXPECT_EQ(link("define void @main() { ret void }"), ""); }

TEST(LinkImage, AnUndefinedFunctionIsAnError) {
  EXPECT_EQ(link("declare void @other()\ndefine void @main() { call void @other()\n call void @other()\n ret void }"),
            "its code needs the symbol other, and an image has no library");
}

TEST(LinkImage, AnUndefinedVariableIsAnError) {
  EXPECT_EQ(link("@other = external global i32\ndefine i32 @main() { %x = load i32, ptr @other\n ret i32 %x }"),
            "its code needs the symbol other, and an image has no library");
}

TEST(LinkImage, WritableDataIsAnError) {
  EXPECT_EQ(link("@state = internal global i32 7\ndefine void @main() { %x = load volatile i32, ptr @state\n "
                 "store volatile i32 8, ptr @state\n ret void }"),
            "its code has writable data in section .data");
}

// An address in data is known only when the image is placed in memory.
TEST(LinkImage, AnAddressInDataIsAnError) {
  EXPECT_EQ(link("@table = internal constant [1 x ptr] [ptr @main]\ndefine void @main() { "
                 "%x = load volatile ptr, ptr @table\n ret void }"),
            "its code has writable data in section .data.rel.ro");
}

TEST(LinkImage, AnEntryPointIsNeeded) {
  EXPECT_EQ(link("define void @other() { ret void }"), "its code has no entry point");
}

TEST(LinkImage, AnObjectThatIsNoObjectIsAnError) {
  llvm::Expected<CodeImage> image = linkImage("no object", "main");
  ASSERT_FALSE(image);
  llvm::consumeError(image.takeError());
}

} // namespace
} // namespace mlir::heddle
