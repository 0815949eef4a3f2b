#include "compiler/Pipeline/WriteWhole.h"

llvm::Error mlir::heddle::writeWhole(StringRef path, llvm::function_ref<void(raw_ostream &)> write) {
  return llvm::writeToOutput(path, [&](raw_ostream &stream) {
    write(stream);
    stream.flush();
    auto &file = static_cast<llvm::raw_fd_ostream &>(stream); // it always is
    std::error_code error = file.error();
    file.clear_error();
    return llvm::errorCodeToError(error);
  });
}
