#include "tools/heddle-compile/Output.h"

#include "compiler/Pipeline/WriteWhole.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::heddle;
namespace fs = llvm::sys::fs;

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
  stream.clear_error(); // otherwise LLVM ends the program with a crash report
  return emitError(UnknownLoc::get(context)) << "cannot write to standard output: " << error.message();
}

LogicalResult mlir::heddle::checkOutput(MLIRContext *context, StringRef flag, StringRef path) {
  if (path.empty() || path == "-" || path == "/dev/null")
    return success();
  if (StringRef kind = describeSpecialFile(path); !kind.empty())
    return emitError(UnknownLoc::get(context))
           << flag << ": '" << path << "' is " << kind << "; name a file, or - for standard output";
  StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (!fs::is_directory(folder))
    return emitError(UnknownLoc::get(context)) << flag << ": cannot write '" << path << "': there is no folder '"
                                               << folder << "'; make it, or name a file elsewhere";
  if (!fs::exists(path) && fs::access(folder, fs::AccessMode::Write))
    return emitError(UnknownLoc::get(context)) << flag << ": cannot write '" << path << "': the folder '" << folder
                                               << "' is not yours to write to; name a file elsewhere";
  return success();
}

bool mlir::heddle::areSameOutput(StringRef path, StringRef other) {
  if (path.empty() || other.empty() || path == "/dev/null")
    return false;
  if (path == other || fs::exists(path) || fs::exists(other))
    return path == other || fs::equivalent(path, other);
  auto folderOf = [](StringRef path) {
    StringRef folder = llvm::sys::path::parent_path(path);
    return folder.empty() ? StringRef(".") : folder;
  };
  return llvm::sys::path::filename(path) == llvm::sys::path::filename(other) &&
         fs::equivalent(folderOf(path), folderOf(other));
}

LogicalResult mlir::heddle::writeOutput(MLIRContext *context, StringRef flag, StringRef path,
                                        function_ref<void(raw_ostream &)> write) {
  if (path == "-") {
    write(llvm::outs());
    return flushStandardOutput(context);
  }
  if (failed(checkOutput(context, flag, path)))
    return failure();
  llvm::Error error = writeWhole(path, write);
  if (!error)
    return success();
  return emitError(UnknownLoc::get(context))
         << flag << ": cannot write '" << path << "': " << llvm::toString(std::move(error));
}
