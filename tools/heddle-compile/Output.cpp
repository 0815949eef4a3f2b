#include "tools/heddle-compile/Output.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/core/File.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::heddle;
namespace fs = llvm::sys::fs;

static constexpr StringLiteral kNowhere = "/dev/null";

StringRef mlir::heddle::describeSpecialFile(StringRef path) {
  fs::file_status status;
  if (fs::status(path, status))
    return "";
  switch (status.type()) {
  case fs::file_type::directory_file:
    return "a folder";
  case fs::file_type::fifo_file:
    return "a FIFO";
  case fs::file_type::socket_file:
    return "a socket";
  case fs::file_type::character_file:
  case fs::file_type::block_file:
    return "a device";
  default:
    return "";
  }
}

LogicalResult mlir::heddle::flushStandardOutput(MLIRContext *context) {
  llvm::raw_fd_ostream &stream = llvm::outs();
  stream.flush();
  if (!stream.has_error())
    return success();
  std::error_code error = stream.error();
  stream.clear_error(); // or LLVM ends the program with a crash report
  return emitError(UnknownLoc::get(context)) << "cannot write to standard output: " << error.message();
}

/// Beside the file first; a link stays a link.
static ::heddle::Status writeWhole(StringRef path, StringRef bytes) {
  std::error_code absent;
  std::filesystem::path target = std::filesystem::canonical(path.str(), absent);
  if (absent)
    target = path.str();
  HEDDLE_ASSIGN(::heddle::AtomicFile file, ::heddle::AtomicFile::create(target));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  return file.commit();
}

LogicalResult mlir::heddle::checkOutput(MLIRContext *context, StringRef flag, StringRef path) {
  StringRef kind = path == "-" || path == kNowhere ? "" : describeSpecialFile(path);
  if (kind.empty())
    return success();
  return emitError(UnknownLoc::get(context))
         << flag << ": '" << path << "' is " << kind << "; name a file, or - for standard output";
}

LogicalResult mlir::heddle::writeOutput(MLIRContext *context, StringRef flag, StringRef path,
                                        function_ref<void(raw_ostream &)> write) {
  if (path == "-") {
    write(llvm::outs());
    return flushStandardOutput(context);
  }
  if (failed(checkOutput(context, flag, path)))
    return failure();
  if (path == kNowhere)
    return success();
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  write(stream);
  if (::heddle::Status written = writeWhole(path, bytes); !written.ok())
    return emitError(UnknownLoc::get(context)) << flag << ": " << written.message();
  return success();
}
