#include "compiler/Target/CUDA/Assemble.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::heddle;

std::string heddle::findPtxas() {
  if (std::optional<std::string> home = llvm::sys::Process::GetEnv("CUDA_HOME")) {
    SmallString<128> folder(*home);
    llvm::sys::path::append(folder, "bin");
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas", {folder}))
      return *found;
  }
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas");
  return found ? *found : std::string();
}

/// The sum of the numbers that `pattern` finds in `text`.
static uint32_t sumOf(StringRef text, StringRef pattern) {
  llvm::Regex regex(pattern);
  uint32_t sum = 0;
  SmallVector<StringRef, 2> match;
  while (regex.match(text, &match)) {
    uint32_t number = 0;
    match[1].getAsInteger(10, number);
    sum += number;
    text = text.drop_front(match[0].end() - text.begin());
  }
  return sum;
}

std::optional<Cubin> heddle::assemblePtx(StringRef ptxas, StringRef ptx, StringRef chip, std::string &message) {
  // Input, output and log are temporary files, which the removers delete.
  constexpr StringLiteral kinds[] = {"ptx", "cubin", "log"};
  SmallString<128> paths[3];
  std::optional<llvm::FileRemover> removers[3];
  for (auto [path, remover, kind] : llvm::zip(paths, removers, kinds)) {
    int file;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("heddle", kind, file, path)) {
      message = "cannot make a temporary file: " + error.message();
      return std::nullopt;
    }
    remover.emplace(path);
    llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
    if (kind == "ptx")
      stream << ptx;
    stream.close();
    if (std::error_code error = stream.error()) {
      stream.clear_error();
      message = ("cannot write '" + path + "': " + error.message()).str();
      return std::nullopt;
    }
  }
  std::string gpu = ("--gpu-name=" + chip).str();
  StringRef arguments[] = {ptxas, gpu, "-v", "-o", paths[1], paths[0]};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(paths[2]), StringRef(paths[2])};
  int code = llvm::sys::ExecuteAndWait(ptxas, arguments, /*Env=*/std::nullopt, redirects, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &message);
  auto read = [](StringRef path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  };
  std::string said = read(paths[2]);
  if (code != 0) {
    message = said.empty() ? message : StringRef(said).trim().str();
    return std::nullopt;
  }
  return Cubin{read(paths[1]), sumOf(said, "Used ([0-9]+) registers"), sumOf(said, "([0-9]+) bytes spill stores")};
}
