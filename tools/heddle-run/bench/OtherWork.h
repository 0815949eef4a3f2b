// Measures how busy the processors are with other work: the busier, the less a timing on a software device can be
// trusted.
#pragma once

#include <optional>

namespace heddle::run {

class OtherWork {
public:
  OtherWork() : start(read()) {}

  // Returns the fraction of all processors' time, since construction, that was neither idle nor used by this process:
  // time of other processes, and time that a hypervisor gave to other machines. Nothing if the system does not tell.
  std::optional<double> fraction() const;

private:
  struct Times {
    bool known = false;
    double all = 0, idle = 0, own = 0; // seconds, of all processors together
  };
  static Times read();

  Times start;
};

} // namespace heddle::run
