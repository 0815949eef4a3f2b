// Prints the measurements of `heddle-run bench`.
#pragma once

#include "tools/heddle-run/bench/Ceilings.h"
#include "tools/heddle-run/bench/Measure.h"

#include <nlohmann/json.hpp>

namespace heddle::run {

class BenchReport {
public:
  explicit BenchReport(const Session &session);

  void add(EntryMeasurement entry) { entries.push_back(std::move(entry)); }
  void setCeilings(Ceilings measured) { ceilings = std::move(measured); }

  std::string text() const;
  nlohmann::ordered_json json() const;

private:
  std::string ceilingText() const;
  std::string table(const EntryMeasurement &entry) const;
  nlohmann::ordered_json json(const EntryMeasurement &entry) const;

  std::string device, driver, target;
  std::vector<EntryMeasurement> entries;
  std::optional<Ceilings> ceilings;
};

} // namespace heddle::run
