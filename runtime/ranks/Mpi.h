// Open MPI, opened at run time, so that training on a single device does not need it.
//
// This needs Open MPI: there, in versions 4 and 5, MPI_COMM_WORLD and the datatypes are addresses of variables in the
// library. In other MPIs they are numbers.
#pragma once

#include "runtime/ranks/Transport.h"

#include <cstdint>

namespace heddle {

class Mpi final : public Transport {
public:
  // Initializes MPI. This process becomes `rank` of `ranks`, whatever number MPI's launcher gave it. Returns when all
  // ranks have called it.
  static Result<std::unique_ptr<Mpi>> open(uint32_t rank, uint32_t ranks);
  ~Mpi() override; // finalizes MPI, which waits for all ranks

  std::string version() const override { return name; }
  Status sum(std::span<float> values) override;
  Status gather(std::span<const std::byte> own, std::span<std::byte> all) override;
  Status broadcast(std::span<std::byte> bytes) override;

private:
  Mpi() = default;
  struct Functions;
  static Result<const Functions *> load();
  Status check(int result, const char *what) const;

  const Functions *mpi = nullptr;
  void *all = nullptr; // the communicator
  std::string name;
};

} // namespace heddle
