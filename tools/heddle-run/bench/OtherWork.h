// Measures how busy the processors are with other work, and so how far times on a software device can be trusted.
#pragma once

#include <optional>

namespace heddle::run {

class OtherWork {
public:
  OtherWork() : start(read()) {}

  // The fraction of all processors' time since construction that neither this process had nor nobody: other processes,
  // and what a hypervisor gave to other machines. Nothing where the system does not tell.
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
