#include "compiler/Pipeline/WriteWhole.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

llvm::Error mlir::heddle::writeWhole(StringRef path, llvm::function_ref<void(raw_ostream &)> write) {
  SmallString<128> target; // a link stays a link
  if (path == "-" || llvm::sys::fs::real_path(path, target))
    target = path;
  return llvm::writeToOutput(target, [&](raw_ostream &stream) {
    write(stream);
    stream.flush();
    auto &file = static_cast<llvm::raw_fd_ostream &>(stream); // it always is
    std::error_code error = file.error();
    file.clear_error();
    return llvm::errorCodeToError(error);
  });
}
