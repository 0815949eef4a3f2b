// The remarks of a compilation: what passes did, and what not and why. For --remarks-filter and the page of --report.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_REMARKS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_REMARKS_H

#include "mlir/IR/Location.h"
#include "tools/heddle-compile/CommandLine.h"

#include <memory>
#include <mutex>

namespace mlir::heddle {

struct PassRemark {
  bool isMissed;
  std::string pass, entry;
  Location place;
  std::string what;
  std::string detail; // into what it was fused, or why it was not
};

class RemarkLog {
public:
  /// A log of all that passes say from now on, for as long as the context lives.
  static std::shared_ptr<RemarkLog> listen(MLIRContext *context);

  /// By pass in the order in which these ran, and by entry: entries are compiled side by side.
  std::vector<PassRemark> getSorted() const;
  /// As diagnostics, those that the command line asks for.
  void print(const RemarkFilters &filters) const;

private:
  friend class RemarkStreamer;
  mutable std::mutex mutex;
  std::vector<PassRemark> remarks;
};

} // namespace mlir::heddle

#endif
