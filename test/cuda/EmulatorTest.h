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

// Gives every test its own context, and loads kernels from text.
class EmulatorTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  // Allocates device memory with these values; it is freed at the end of the test.
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

  // Loads a module and returns the kernel of this name, which must exist.
  void *kernel(const std::string &ptx, const char *name = "k");
  // Returns the error of loading a module, and the log.
  int loadError(const std::string &ptx, std::string &log);

  struct Size {
    unsigned x = 1, y = 1, z = 1;
  };
  // Returns the error of the launch or, if the launch was accepted, of waiting for it.
  template <typename... Arguments>
  int launch(void *function, Size grid, Size block, unsigned sharedBytes, Arguments... arguments) {
    void *pointers[] = {&arguments..., nullptr};
    return launchWith(function, grid, block, sharedBytes, pointers);
  }
  // Like launch(), but also returns the message on stderr.
  template <typename... Arguments>
  int launchFaulty(std::string &message, void *function, Size grid, Size block, unsigned sharedBytes,
                   Arguments... arguments) {
    ::testing::internal::CaptureStderr();
    int result = launch(function, grid, block, sharedBytes, arguments...);
    message = ::testing::internal::GetCapturedStderr();
    return result;
  }

  // Runs `body` once per row of inputs, each in its own thread, and returns the final values of the register `result`.
  // Inputs are in %rd1 to %rd3, truncated to 32 bits in %r1 to %r3 and %f1 to %f3, to 16 bits in %rs1 to %rs3, and as
  // f64 in %fd1 to %fd3. The body may use further registers of these kinds, %p0 to %p9, and %rq0 to %rq3.
  using Row = std::array<uint64_t, 3>;
  std::vector<uint64_t> evaluate(const std::string &body, const std::string &result, const std::vector<Row> &rows);

  static std::string header(unsigned target = 80);

private:
  int launchWith(void *function, Size grid, Size block, unsigned sharedBytes, void **arguments);
  std::vector<uint64_t> allocations;
  std::vector<void *> modules;
};

} // namespace heddle::test
