// What `heddle-run bench` prints of its measurements.
#pragma once

#include "tools/heddle-run/bench/Measure.h"

#include <nlohmann/json.hpp>

namespace heddle::run {

class BenchReport {
public:
  explicit BenchReport(const Session &session);

  void add(const EntryMeasurement &entry);

  std::string table(const EntryMeasurement &entry) const;
  std::string json() const { return record.dump(); }

private:
  nlohmann::ordered_json record;
};

} // namespace heddle::run
