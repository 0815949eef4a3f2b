#include "tools/heddle-compile/Remarks.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Regex.h"

namespace mlir::heddle {

class RemarkStreamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkStreamer(std::shared_ptr<RemarkLog> log) : log(std::move(log)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    bool isMissed = remark.getRemarkType() == llvm::remarks::Type::Missed;
    PassRemark kept{isMissed, remark.getCategoryName().str(), remark.getFunction().str(), remark.getLocation(), "", ""};
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      (arg.key == "What" ? kept.what : kept.detail) += arg.val;
    std::lock_guard lock(log->mutex);
    log->remarks.push_back(std::move(kept));
  }

private:
  std::shared_ptr<RemarkLog> log;
};

} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

std::shared_ptr<RemarkLog> RemarkLog::listen(MLIRContext *context) {
  auto log = std::make_shared<RemarkLog>();
  remark::RemarkCategories categories;
  categories.passed = categories.missed = ".*"; // `all` only adds to categories that are set
  if (failed(remark::enableOptimizationRemarks(*context, std::make_unique<RemarkStreamer>(log),
                                               std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    llvm_unreachable("our streamer needs no setting up");
  return log;
}

std::vector<PassRemark> RemarkLog::getSorted() const {
  std::lock_guard lock(mutex);
  llvm::SetVector<StringRef> passes;
  for (const PassRemark &remark : remarks)
    passes.insert(remark.pass);
  std::vector<PassRemark> sorted = remarks;
  auto key = [&](const PassRemark &remark) {
    return std::pair(llvm::find(passes, StringRef(remark.pass)) - passes.begin(), StringRef(remark.entry));
  };
  llvm::stable_sort(sorted, [&](const PassRemark &a, const PassRemark &b) { return key(a) < key(b); });
  return sorted;
}

void RemarkLog::print(const RemarkFilters &filters) const {
  auto matches = [](const std::string &filter, StringRef pass) {
    return !filter.empty() && llvm::Regex(filter).match(pass);
  };
  for (const PassRemark &remark : getSorted())
    if (matches(filters.all, remark.pass) || matches(remark.isMissed ? filters.missed : filters.passed, remark.pass))
      emitRemark(remark.place) << remark.pass << " " << (remark.isMissed ? "missed" : "passed") << " in "
                               << remark.entry << ": " << remark.what << (remark.isMissed ? ": " : " into ")
                               << remark.detail;
}
