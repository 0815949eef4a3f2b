#include "tools/heddle-run/report/TrainingLog.h"

#include "runtime/core/File.h"
#include "runtime/core/Json.h"
#include "runtime/core/Span.h"
#include "runtime/text/Lines.h"

#include <unistd.h>

namespace heddle::run {
namespace {

Status keepUpTo(const std::filesystem::path &path, uint64_t lastStep) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(path));
  std::string kept, line;
  while (reader.next(line)) {
    // Drops lines that are no records, such as the last line of a program that was killed.
    Result<nlohmann::json> record = parseJson(line, "a record");
    if (!record.ok() || !record->is_object() || !record->contains("step") || !record->at("step").is_number_unsigned() ||
        record->at("step").get<uint64_t>() > lastStep)
      continue;
    kept += line;
    kept += '\n';
  }
  HEDDLE_CHECK(reader.status());
  return writeFile(path, kept);
}

Error cannotWrite(const std::filesystem::path &path) {
  return makeError(ErrorKind::Io, "cannot write the log '", path.string(), "'; does its folder exist?");
}

bool isWritableFolder(const std::filesystem::path &folder) {
  std::error_code error;
  return std::filesystem::is_directory(folder, error) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

} // namespace

Status TrainingLog::check(const std::filesystem::path &json, const std::filesystem::path &events) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(json, error);
  if (!json.empty() && (std::filesystem::exists(place, error)
                            ? std::filesystem::is_directory(place, error) || ::access(place.c_str(), W_OK) != 0
                            : !isWritableFolder(place.parent_path())))
    return cannotWrite(json);
  place = std::filesystem::absolute(events, error);
  while (!std::filesystem::exists(place, error) && place.has_relative_path())
    place = place.parent_path(); // missing folders are created
  if (!events.empty() && !isWritableFolder(place))
    return makeError(ErrorKind::Io, "cannot write TensorBoard's events to '", events.string(), "'.");
  return Success();
}

Status TrainingLog::openJson(const std::filesystem::path &where, uint64_t resumedStep) {
  std::error_code error;
  bool append = resumedStep != 0 && std::filesystem::is_regular_file(where, error);
  if (append)
    HEDDLE_CHECK(keepUpTo(where, resumedStep));
  path = where;
  file.open(path, append ? std::ios::binary | std::ios::app : std::ios::binary | std::ios::trunc);
  if (!file)
    return cannotWrite(path);
  return Success();
}

Status TrainingLog::openEvents(const std::filesystem::path &folder, uint64_t resumedStep) {
  HEDDLE_ASSIGN(events, EventFile::create(folder, resumedStep));
  return Success();
}

Status TrainingLog::step(const StepReport &report) {
  const std::pair<std::string_view, double> values[] = {{"train/loss", report.loss},
                                                        {"train/learning_rate", report.learningRate},
                                                        {"train/tokens_per_second", report.tokensPerSecond()}};
  return write(report.step, values, describeAsJson(report));
}

Status TrainingLog::validation(uint64_t step, const EvaluationResult &result) {
  std::vector<std::pair<std::string_view, double>> values = {{"validation/loss", result.loss}};
  if (result.squaredError)
    values.emplace_back("validation/mean_squared_error", *result.squaredError);
  else
    values.emplace_back(result.accuracy ? "validation/accuracy" : "validation/perplexity",
                        result.accuracy.value_or(result.perplexity()));
  if (result.pearson)
    values.emplace_back("validation/pearson", *result.pearson);
  if (result.bleu)
    values.emplace_back("validation/bleu", *result.bleu);
  return write(step, values, describeAsJson(step, result));
}

Status TrainingLog::write(uint64_t step, Scalars values, const std::string &line) {
  Status curves = writeEvents(step, values), text = writeJson(line);
  if (!curves.ok() && !text.ok())
    return makeError(ErrorKind::Io, text.message(), " ", curves.message());
  return text.ok() ? curves : text;
}

Status TrainingLog::writeEvents(uint64_t step, Scalars values) {
  if (!events)
    return Success();
  Status status = events->scalars(step, values);
  if (!status.ok())
    events.reset();
  return status;
}

Status TrainingLog::writeJson(const std::string &line) {
  if (path.empty())
    return Success();
  Span span("write log");
  file << line << '\n';
  file.flush(); // somebody may be watching, and a crash must not lose the last steps
  if (file)
    return Success();
  return makeError(ErrorKind::Io, "cannot write to the log '", std::exchange(path, {}).string(),
                   "'; is the disk full?");
}

} // namespace heddle::run
