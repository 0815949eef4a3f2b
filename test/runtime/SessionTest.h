// Opens sessions on each backend, with artifacts made in memory and kernels written by hand.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/session/Session.h"
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"

#include <gtest/gtest.h>
#include <numeric>

namespace heddle {

inline HostTensor ramp(size_t count, float start) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), start);
  return HostTensor::vector(values);
}

class SessionTest : public test::BackendTest {
protected:
  std::unique_ptr<Session> openAdder(test::AdderOptions options = {}, SessionOptions session = {}) {
    options.targets = GetParam().targets;
    return open(test::buildAdder(options), session);
  }

  std::unique_ptr<Session> openChanged(const std::function<void(schema::ModuleT &)> &change,
                                       SessionOptions options = {}) {
    return open(test::changed(test::buildAdder({.targets = GetParam().targets}), change), options);
  }

  std::unique_ptr<Session> open(std::vector<std::byte> bytes, SessionOptions options = {}) {
    auto artifact = Artifact::fromBytes(std::move(bytes), "adder");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    if (!artifact)
      return nullptr;
    options.device = GetParam().name;
    options.deviceOptions = {.directAccess = GetParam().directAccess};
    auto opened = Session::open(*artifact, options);
    EXPECT_TRUE(opened.ok()) << opened.message();
    return opened ? std::move(*opened) : nullptr;
  }
};

} // namespace heddle
