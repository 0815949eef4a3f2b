// The backends that the runtime's conformance tests run on. If a machine has no device of a backend, the backend's
// instances are skipped, with a message.
#pragma once

#include "runtime/hal/Device.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace heddle::test {

// A target for this processor.
#if defined(__aarch64__)
inline constexpr const char *kCpuTarget = "cpu:aarch64";
#else
inline constexpr const char *kCpuTarget = "cpu:x86-64-v3";
#endif

struct Backend {
  const char *name;         // opens the backend's device
  const char *label;        // name of the test's instance
  bool directAccess = true; // see hal::DeviceOptions
  std::vector<std::string> targets;
};

inline void PrintTo(const Backend &backend, std::ostream *out) { *out << backend.label; }

inline const std::vector<Backend> &backends() {
  static const std::vector<Backend> all = {{"vulkan", "vulkan", true, {"vulkan:software", "vulkan:portable"}},
                                           {"vulkan", "vulkan_staged", false, {"vulkan:software", "vulkan:portable"}},
                                           {"cuda", "cuda", true, {"cuda:sm_80"}},
                                           {"cpu", "cpu", true, {kCpuTarget}}};
  return all;
}

// Returns why there is no device of the backend; empty if there is one. Vulkan is never missing, as Mesa has a software
// driver.
inline std::string absence(const Backend &backend) {
  Result<std::unique_ptr<hal::Device>> device = hal::openDevice(backend.name);
  bool missing = !device && (device.error().kind == ErrorKind::NotFound || std::string_view(backend.name) == "cpu");
  bool absent = missing && std::string_view(backend.name) != "vulkan";
  return absent ? device.message() : "";
}

class BackendTest : public testing::TestWithParam<Backend> {
protected:
  void SetUp() override {
    if (std::string why = absence(GetParam()); !why.empty())
      GTEST_SKIP() << why;
  }
};

#define HEDDLE_FOR_EACH_BACKEND(suite)                                                                                 \
  INSTANTIATE_TEST_SUITE_P(Backends, suite, testing::ValuesIn(test::backends()),                                       \
                           [](const auto &info) { return std::string(info.param.label); })

} // namespace heddle::test
