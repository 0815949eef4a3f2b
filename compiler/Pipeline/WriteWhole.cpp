#include "compiler/Pipeline/WriteWhole.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

llvm::Error mlir::heddle::writeWhole(StringRef path, llvm::function_ref<void(raw_ostream &)> write) {
  auto writeTo = [&](raw_ostream &stream) {
    write(stream);
    stream.flush();
    auto &file = static_cast<llvm::raw_fd_ostream &>(stream); // so are all streams below
    std::error_code error = file.error();
    file.clear_error();
    return llvm::errorCodeToError(error);
  };
  // LLVM's function writes a new file and renames it, which would replace a link or a device such as /dev/full. So
  // write to a link's target, and open devices and pipes directly.
  SmallString<128> target;
  if (path == "-" || llvm::sys::fs::real_path(path, target))
    return llvm::writeToOutput(path, writeTo);
  if (llvm::sys::fs::is_regular_file(target))
    return llvm::writeToOutput(target, writeTo);
  std::error_code error;
  llvm::raw_fd_ostream stream(target, error, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::FA_Write,
                              llvm::sys::fs::OF_None);
  return error ? llvm::errorCodeToError(error) : writeTo(stream);
}
