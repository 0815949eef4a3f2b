// The whole runtime on a real driver: artifacts made in memory, kernels written by hand.
#include "runtime/session/Session.h"

#include "test/runtime/ArtifactBuilder.h"

#include <gtest/gtest.h>
#include <numeric>

namespace heddle {
namespace {

std::unique_ptr<Session> openAdder(const test::AdderOptions &options = {}, const SessionOptions &session = {}) {
  auto artifact = Artifact::fromBytes(test::buildAdder(options), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  if (!artifact)
    return nullptr;
  auto opened = Session::open(*artifact, session);
  EXPECT_TRUE(opened.ok()) << opened.message();
  return opened ? std::move(*opened) : nullptr;
}

HostTensor ramp(size_t count, float start) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), start);
  return HostTensor::vector(values);
}

TEST(SessionTest, addsVectorsOfAnyLength) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  for (size_t n : {1u, 7u, 8u, 9u, 999u, 1000u, 3u}) {
    HostTensor a = ramp(n, 1), b = ramp(n, 100);
    auto outputs = session->call("add", {{"a", a}, {"b", b}});
    ASSERT_TRUE(outputs.ok()) << outputs.message();
    const HostTensor *sum = outputs->find("sum");
    ASSERT_TRUE(sum);
    ASSERT_EQ(sum->shape(), Shape{static_cast<int64_t>(n)});
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(sum->values<float>()[i], 101.0f + 2 * static_cast<float>(i));
  }
}

} // namespace
} // namespace heddle
