#include "tools/heddle-run/commands/Commands.h"

#include "runtime/core/Log.h"
#include "tools/cli/SameFile.h"
#include "tools/heddle-run/report/ReportPage.h"

namespace heddle::run {

Status runReport(const ReportCommand &command) {
  HEDDLE_CHECK(cli::checkOutput("--html", command.page, {command.logs.begin(), command.logs.end()}));
  std::vector<TrainingCurves> runs;
  for (const std::string &path : command.logs) {
    HEDDLE_ASSIGN(runs.emplace_back(), TrainingCurves::read(path));
  }
  HEDDLE_CHECK(reportPage(runs).write(command.page));
  log(LogLevel::Info, str("wrote ", command.page, ": ", runs.size(), runs.size() == 1 ? " training" : " trainings"));
  return Success();
}

} // namespace heddle::run
