// Collects a compilation's remarks (what passes did, and what they did not and why) for --remarks-filter and the page
// of --report.
#pragma once

#include "mlir/IR/Location.h"
#include "tools/heddle-compile/CompileFlags.h"

#include <memory>
#include <mutex>

namespace mlir::heddle {

struct PassRemark {
  bool isMissed;
  std::string pass, entry;
  Location place;
  std::string what;
  std::string detail; // the kernel it was fused into, or why it was not fused
};

class RemarkLog {
public:
  /// Starts a log of all remarks that passes emit from now on, for as long as the context lives.
  static std::shared_ptr<RemarkLog> listen(MLIRContext *context);

  /// Returns the remarks sorted by pass, in the order in which passes ran, and then by entry: entries are compiled in
  /// parallel.
  std::vector<PassRemark> getSorted() const;
  /// Prints the remarks that match `filters` as diagnostics.
  void print(const RemarkFilters &filters) const;

private:
  friend class RemarkStreamer;
  mutable std::mutex mutex;
  std::vector<PassRemark> remarks;
};

} // namespace mlir::heddle
