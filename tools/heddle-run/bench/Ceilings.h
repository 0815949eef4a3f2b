// The device's peak rates, measured by our own kernels (ceilings.mlir.in and ceilings_cpu.mlir.in in bench/models).
#pragma once

#include "runtime/session/Session.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heddle::run {

struct Ceiling {
  std::string kernel; // the entry that reached it
  double rate = 0;    // FLOP/s or bytes/s
};

struct Ceilings {
  Ceiling arithmetic;   // entries `fma_*`: enough independent chains of multiply-adds to keep the device busy
  Ceiling longestChain; // entries `long_*`: fewer chains and longer bodies
  Ceiling copy;         // entries `copy_*`: bytes read and bytes written
  Ceiling read;         // entries `read_*`: bytes read; its rate is 0 if the artifact has none

  // Keeps the larger rate of two measurements: other work on the machine can only lower a rate.
  void include(const Ceilings &other);
};

// Finds share/heddle/ceilings-TARGET.heddle beside the running program's folder, where the build puts it.
std::optional<std::filesystem::path> findCeilings(std::string_view target);

class CeilingMeasurement {
public:
  static Result<CeilingMeasurement> open(const std::filesystem::path &artifact, const std::string &device);

  // Calls each kernel a few times and keeps the best rate.
  Result<Ceilings> measure();

private:
  struct Kernel {
    std::string entry;
    Ceiling Ceilings::*kind;
    HostTensor input;
    std::vector<bool> isTimed; // by launch; a launch without a cost only prepares what others read
    double work = 0;           // FLOPs or bytes
  };

  std::unique_ptr<Session> session;
  std::vector<Kernel> kernels;
};

} // namespace heddle::run
