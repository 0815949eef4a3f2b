// Open MPI, opened at run time: a program that trains on one device needs none.
//
// MPI_COMM_WORLD and the datatypes are addresses of variables in Open MPI's library, the same in Open MPI 4 and 5. Of
// other MPIs they are numbers: this needs Open MPI.
#pragma once

#include "runtime/ranks/Transport.h"

#include <cstdint>

namespace heddle {

class Mpi final : public Transport {
public:
  // Begins MPI. This process is `rank` of `ranks` from here on, whatever number MPI's launcher gave it. Returns when
  // all ranks have called it.
  static Result<std::unique_ptr<Mpi>> open(uint32_t rank, uint32_t ranks);
  ~Mpi() override; // ends MPI, together with all ranks

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
