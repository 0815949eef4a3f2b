// What the device can do at most, measured by kernels of ours (bench/models/ceilings.mlir.in).
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
  Ceiling arithmetic;   // entries `fma_*`: at least 24 independent chains of vec4 multiply-adds
  Ceiling longestChain; // entries `long_*`: fewer chains and longer bodies
  Ceiling copy;         // entries `copy_*`: bytes read and bytes written

  // Of two measurements the larger numbers: what else runs on the machine can only lower them.
  void include(const Ceilings &other);
};

// share/heddle/ceilings-TARGET.heddle beside the folder of the running program, where the build puts it.
std::optional<std::filesystem::path> findCeilings(std::string_view target);

class CeilingMeasurement {
public:
  static Result<CeilingMeasurement> open(const std::filesystem::path &artifact, const std::string &device);

  // The best of a few calls of each kernel.
  Result<Ceilings> measure();

private:
  struct Kernel {
    std::string entry;
    Ceiling Ceilings::*kind;
    HostTensor input;
    double work = 0; // FLOPs or bytes
  };

  std::unique_ptr<Session> session;
  std::vector<Kernel> kernels;
};

} // namespace heddle::run
