// Draws the logs of training runs (report/TrainingLog.h) as a page of curves, one run over the other.
#pragma once

#include "tools/heddle-run/report/HtmlPage.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace heddle::run {

// One number of a log over the steps, in at most kMostPoints points. In longer logs each point stands for several
// consecutive records.
class Curve {
public:
  static constexpr size_t kMostPoints = 600;

  // How far a training run had come, and what it had used until then.
  struct Place {
    uint64_t step = 0;
    double tokens = 0, seconds = 0; // only of steps, without validating and saving
  };
  struct Point {
    Place place; // of the point's last record
    double sum = 0, low = 0, high = 0;
    uint64_t records = 0;

    double mean() const { return sum / double(records); }
  };

  void add(const Place &place, double value);
  // Drops the records of this step and later ones: these steps were taken again.
  void cutFrom(uint64_t step);
  const std::vector<Point> &points() const { return all; }

private:
  std::vector<Point> all;
  uint64_t perPoint = 1;
};

// The curves in the log of a training run.
struct TrainingCurves {
  std::string name;
  std::map<std::string, Curve> curves; // by the log's keys
  Curve::Place end;
  // From the last score, for each group of sentence lengths: fewest words, most words, share of words in place, number
  // of words.
  std::vector<std::array<double, 4>> wordsInPlace;

  // Fails if the file cannot be read or has no record of a training run. Other lines are skipped, such as a last line
  // that is still being written.
  static Result<TrainingCurves> read(const std::filesystem::path &log);
};

HtmlPage reportPage(const std::vector<TrainingCurves> &runs);

} // namespace heddle::run
