#include "tools/heddle-compile/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::heddle;

/// A pass may repeat a mistake for every op that follows from it; nobody reads the hundredth error.
static constexpr unsigned kMostErrors = 20;

/// Returns the first file location within `location`.
static FileLineColLoc findPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

static void print(StringRef program, Location location, StringRef severity, const std::string &message) {
  llvm::raw_ostream &stream = llvm::errs();
  if (FileLineColLoc place = findPlace(location))
    stream << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn() << ": ";
  else
    stream << program << ": ";
  stream << severity << ": " << message << "\n";
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context, StringRef program)
    : handler(context, [this, program](Diagnostic &diagnostic) {
        switch (diagnostic.getSeverity()) {
        case DiagnosticSeverity::Error:
          if (auto named = dyn_cast<NameLoc>(LocationAttr(diagnostic.getLocation())))
            blamesFlag |= named.getName().getValue().starts_with("--");
          if (++errors <= kMostErrors)
            print(program, diagnostic.getLocation(), "error", diagnostic.str());
          break;
        case DiagnosticSeverity::Warning:
          print(program, diagnostic.getLocation(), "warning", diagnostic.str());
          break;
        case DiagnosticSeverity::Remark:
          print(program, diagnostic.getLocation(), "remark", diagnostic.str());
          break;
        case DiagnosticSeverity::Note:
          break;
        }
        return success();
      }) {
  context->printOpOnDiagnostic(false);
}
