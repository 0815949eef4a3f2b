#include "tools/heddle-run/report/ReportPage.h"

#include "runtime/core/Json.h"
#include "runtime/text/Lines.h"
#include "tools/heddle-run/report/PageParts.h" // generated from report.css, report.html and report.js

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace heddle::run {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> number(const nlohmann::json &record, const char *key) {
  auto found = record.find(key);
  if (found == record.end() || !found->is_number() || !std::isfinite(found->get<double>()))
    return std::nullopt;
  return found->get<double>();
}

// Rounds to six digits, more than a screen shows.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

Json toJson(const Curve::Place &place) { return {place.step, place.tokens, rounded(place.seconds)}; }

Json toJson(const Curve &curve) {
  Json points = Json::array();
  for (const Curve::Point &point : curve.points()) {
    Json values = toJson(point.place);
    values.push_back(rounded(point.mean()));
    if (point.records > 1)
      for (double value : {point.low, point.high})
        values.push_back(rounded(value));
    points.push_back(std::move(values));
  }
  return points;
}

// Skips groups that are not four numbers each.
std::vector<std::array<double, 4>> readGroups(const nlohmann::json &groups) {
  std::vector<std::array<double, 4>> result;
  for (const nlohmann::json &group : groups) {
    auto isNumber = [](const nlohmann::json &value) { return value.is_number() && std::isfinite(value.get<double>()); };
    if (group.is_array() && group.size() == 4 && std::all_of(group.begin(), group.end(), isNumber))
      result.push_back(
          {group[0].get<double>(), group[1].get<double>(), group[2].get<double>(), group[3].get<double>()});
  }
  return result;
}

} // namespace

void Curve::add(const Place &place, double value) {
  if (!all.empty() && all.back().records < perPoint) {
    Point &point = all.back();
    point = {place, point.sum + value, std::min(point.low, value), std::max(point.high, value), point.records + 1};
    return;
  }
  if (all.size() == kMostPoints) {
    for (size_t i = 0; i < kMostPoints / 2; ++i) {
      const Point &first = all[2 * i], &second = all[2 * i + 1];
      all[i] = {second.place, first.sum + second.sum, std::min(first.low, second.low),
                std::max(first.high, second.high), first.records + second.records};
    }
    all.resize(kMostPoints / 2);
    perPoint *= 2;
  }
  all.push_back({place, value, value, value, 1});
}

void Curve::cutFrom(uint64_t step) {
  while (!all.empty() && all.back().place.step >= step)
    all.pop_back();
}

Result<TrainingCurves> TrainingCurves::read(const std::filesystem::path &log) {
  TrainingCurves result;
  result.name = log.string();
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(log));
  std::string line;
  while (reader.next(line)) {
    Result<nlohmann::json> parsed = parseJson(line, "a record");
    nlohmann::json record = parsed.ok() ? std::move(*parsed) : nlohmann::json::object();
    auto step = record.is_object() ? record.find("step") : record.end();
    if (step == record.end() || !step->is_number_unsigned())
      continue;
    Curve::Place place = result.end;
    place.step = step->get<uint64_t>();
    auto take = [&](std::initializer_list<const char *> keys) {
      for (const char *key : keys)
        if (std::optional<double> value = number(record, key))
          result.curves[key].add(place, *value);
    };
    if (number(record, "learning_rate")) { // a training step
      if (place.step <= result.end.step)
        for (auto &[key, curve] : result.curves)
          curve.cutFrom(place.step);
      place.seconds += number(record, "seconds").value_or(0);
      place.tokens += number(record, "source_tokens").value_or(0) + number(record, "target_tokens").value_or(0);
      result.end = place;
      take({"loss", "learning_rate", "tokens_per_second", "gradient_norm"});
    } else {
      take({"validation_loss", "validation_bleu", "bleu", "validation_accuracy", "accuracy",
            "validation_sentence_accuracy"});
      if (auto words = record.find("words_in_place"); words != record.end())
        result.wordsInPlace = readGroups(*words);
    }
  }
  HEDDLE_CHECK(reader.status());
  if (result.curves.empty())
    return makeError(ErrorKind::InvalidArgument, "'", log.string(),
                     "' has no record of a training; `heddle-run train --log` writes such a log.");
  return result;
}

HtmlPage reportPage(const std::vector<TrainingCurves> &runs) {
  Json data = {{"runs", Json::array()}, {"most_points", Curve::kMostPoints}};
  std::string title;
  for (const TrainingCurves &run : runs) {
    Json curves = Json::object();
    for (const auto &[key, curve] : run.curves)
      curves[key] = toJson(curve);
    Json words = Json::array();
    for (const auto &[fewest, most, share, count] : run.wordsInPlace)
      words.push_back({fewest, most, rounded(share), count});
    data["runs"].push_back({{"name", run.name},
                            {"end", toJson(run.end)},
                            {"curves", std::move(curves)},
                            {"words_in_place", std::move(words)}});
    title += (title.empty() ? "" : ", ") + run.name;
  }
  return {title, kReportStyle, kReportBody, kReportScript, std::move(data)};
}

} // namespace heddle::run
