#include "compiler/Target/CodeCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::heddle;

static std::string nameOf(const llvm::Module &module, StringRef target) {
  SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  llvm::SHA256 hash;
  hash.update(target);
  hash.update(StringRef(bitcode.data(), bitcode.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

LogicalResult heddle::compileOnce(const llvm::Module &module, StringRef target,
                                  function_ref<LogicalResult(SmallVectorImpl<char> &)> compile,
                                  SmallVectorImpl<char> &code) {
  std::optional<std::string> folder = llvm::sys::Process::GetEnv("HEDDLE_CODE_CACHE");
  if (!folder || folder->empty())
    return compile(code);
  SmallString<128> path(*folder);
  llvm::sys::path::append(path, nameOf(module, target));
  if (auto known = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false)) {
    code.assign((*known)->getBufferStart(), (*known)->getBufferEnd());
    return success();
  }
  if (failed(compile(code)))
    return failure();
  // Without the file, the next call compiles the module again.
  llvm::consumeError(llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
    stream << StringRef(code.data(), code.size());
    return llvm::Error::success();
  }));
  return success();
}
