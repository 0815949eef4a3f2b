// The logs of training runs (report/TrainingLog.h) as a page of curves, one beside the other.
#pragma once

#include "tools/heddle-run/report/HtmlPage.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace heddle::run {

// One number of a log over the steps, in at most kMostPoints points however long the log is: where there are more
// records, a point stands for several that follow each other.
class Curve {
public:
  static constexpr size_t kMostPoints = 600;

  // How far a training run had come, and what it had used up until then.
  struct Place {
    uint64_t step = 0;
    double tokens = 0, seconds = 0; // of steps alone: validating and saving take no part
  };
  struct Point {
    Place place; // of the point's last record
    double sum = 0, low = 0, high = 0;
    uint64_t records = 0;

    double mean() const { return sum / double(records); }
  };

  void add(const Place &place, double value);
  // Forgets what is of this step or later ones: they are taken again.
  void cutFrom(uint64_t step);
  const std::vector<Point> &points() const { return all; }

private:
  std::vector<Point> all;
  uint64_t perPoint = 1;
};

// What a log says of a training run.
struct TrainingCurves {
  std::string name;
  std::map<std::string, Curve> curves; // by the log's keys
  Curve::Place end;
  // Of the last score: for each group of lengths the fewest words, the most, the share that is in place, and of how
  // many.
  std::vector<std::array<double, 4>> wordsInPlace;

  // Fails where the file cannot be read or has no record of a training run. Other lines, like a last one that is being
  // written, are left out.
  static Result<TrainingCurves> read(const std::filesystem::path &log);
};

HtmlPage reportPage(const std::vector<TrainingCurves> &runs);

} // namespace heddle::run
