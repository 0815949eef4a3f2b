// Runs PTX on the emulator through the driver API.
#pragma once

#include "test/cuda/emulator/Cuda.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::test {

// The library's functions, opened once.
class Api {
public:
  static Api &get();
  template <typename... Arguments> int operator()(const char *name, Arguments... arguments) {
    return reinterpret_cast<int (*)(Arguments...)>(find(name))(arguments...);
  }

private:
  Api();
  void *find(const char *name);
  void *library;
};

#define EXPECT_CUDA(...) EXPECT_EQ(Api::get()(__VA_ARGS__), emulator::kSuccess)

// A context of its own for every test, and kernels from text.
class EmulatorTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  // Device memory with these values; freed at the end.
  template <typename T> uint64_t upload(const std::vector<T> &values) {
    uint64_t address = allocate(values.size() * sizeof(T));
    EXPECT_CUDA("cuMemcpyHtoD_v2", address, static_cast<const void *>(values.data()), values.size() * sizeof(T));
    return address;
  }
  template <typename T> std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_CUDA("cuMemcpyDtoH_v2", static_cast<void *>(values.data()), address, count * sizeof(T));
    return values;
  }
  uint64_t allocate(size_t bytes);

  // Loads a module and returns its kernel; the module must have one of that name.
  void *kernel(const std::string &ptx, const char *name = "k");
  // The error of loading a module, and what the log says.
  int loadError(const std::string &ptx, std::string &log);

  struct Size {
    unsigned x = 1, y = 1, z = 1;
  };
  // The result of the launch, or, if it was accepted, of waiting for it.
  template <typename... Arguments>
  int launch(void *function, Size grid, Size block, unsigned sharedBytes, Arguments... arguments) {
    void *pointers[] = {&arguments..., nullptr};
    return launchWith(function, grid, block, sharedBytes, pointers);
  }
  // The same, and what it said on stderr.
  template <typename... Arguments>
  int launchFaulty(std::string &message, void *function, Size grid, Size block, unsigned sharedBytes,
                   Arguments... arguments) {
    ::testing::internal::CaptureStderr();
    int result = launch(function, grid, block, sharedBytes, arguments...);
    message = ::testing::internal::GetCapturedStderr();
    return result;
  }

  // Runs `body` once per row of inputs, in a thread each, and returns what it left in the register `result`. The inputs
  // are in %rd1 to %rd3, cut to 32 bits in %r1 to %r3 and %f1 to %f3, to 16 in %rs1 to %rs3, and as f64 in %fd1 to
  // %fd3; there are more of all of these and %p0 to %p9, %rq0 to %rq3 for the body's own use.
  using Row = std::array<uint64_t, 3>;
  std::vector<uint64_t> evaluate(const std::string &body, const std::string &result, const std::vector<Row> &rows);

  static std::string header(unsigned target = 80);

private:
  int launchWith(void *function, Size grid, Size block, unsigned sharedBytes, void **arguments);
  std::vector<uint64_t> allocations;
  std::vector<void *> modules;
};

} // namespace heddle::test
