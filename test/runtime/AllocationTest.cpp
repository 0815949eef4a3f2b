// Out-of-memory tests: while a model is opened, prepared and called, allocations of the runtime's own code fail: each
// of the first twenty, then one in twenty. Allocations in the standard library's compiled part do not fail. The result
// must be an error, never a crash, and the session must work afterwards. Files of weights are left out: their headers
// are JSON, and nlohmann's values allocate in destructors.
#include "runtime/c/ApiCall.h"

#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <vector>

extern "C" const char __executable_start,
    etext; // defined by the linker: the code of this program, including the runtime

namespace {

std::atomic<int64_t> left = -1; // allocations before one fails; negative: none fails

// Only allocations of our code fail: drivers may end the process if memory is missing.
void *allocate(size_t bytes, size_t alignment, const void *caller) {
  if (left >= 0 && caller >= &__executable_start && caller < &etext && left-- == 0)
    throw std::bad_alloc();
  void *result = alignment == 0 ? std::malloc(bytes + (bytes == 0))
                                : std::aligned_alloc(alignment, (bytes + alignment) & -alignment);
  if (!result)
    throw std::bad_alloc();
  return result;
}

} // namespace

void *operator new(size_t bytes) { return allocate(bytes, 0, __builtin_return_address(0)); }
void *operator new[](size_t bytes) { return allocate(bytes, 0, __builtin_return_address(0)); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, size_t(alignment), __builtin_return_address(0));
}
void *operator new[](size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, size_t(alignment), __builtin_return_address(0));
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return std::malloc(bytes + (bytes == 0)); }
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept { return std::malloc(bytes + (bytes == 0)); }
void operator delete(void *data) noexcept { std::free(data); }
void operator delete[](void *data) noexcept { std::free(data); }
void operator delete(void *data, size_t) noexcept { std::free(data); }
void operator delete[](void *data, size_t) noexcept { std::free(data); }
void operator delete(void *data, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void *data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void *data, size_t, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void *data, size_t, std::align_val_t) noexcept { std::free(data); }

namespace heddle {
namespace {

class AllocationTest : public test::BackendTest {
protected:
  void SetUp() override {
    test::BackendTest::SetUp();
    artifact = test::buildAdder({.targets = GetParam().targets});
  }

  heddle_status open(heddle_session *&session) const {
    heddle_options options{sizeof(heddle_options), GetParam().name, nullptr, 0};
    return heddle_open_bytes(artifact.data(), artifact.size(), &options, &session);
  }

  static heddle_status add(heddle_session *session) {
    float a[] = {1, 2, 3}, b[] = {10, 20, 30};
    int64_t extent = 3;
    heddle_tensor inputs[] = {{"b", HEDDLE_F32, 1, &extent, b}, {"a", HEDDLE_F32, 1, &extent, a}};
    heddle_outputs *outputs = nullptr;
    heddle_status status = heddle_call(session, "add", inputs, 2, &outputs);
    if (status != HEDDLE_OK)
      return status;
    heddle_tensor sum{};
    status = heddle_output_named(outputs, "sum", &sum);
    if (status == HEDDLE_OK)
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(static_cast<const float *>(sum.data)[i], float(11 * (i + 1)));
    heddle_free_outputs(outputs);
    return status;
  }

  // Repeats the work until no allocation fails in it: first each allocation fails in turn, later about every 20th.
  template <typename Work> static void failEach(const char *what, Work work) {
    int64_t failures = 0;
    for (int64_t number = 0;; number += 1 + number / 20) {
      left = number;
      heddle_status status = work();
      bool isComplete = left.exchange(-1) >= 0;
      if (isComplete) {
        EXPECT_EQ(status, HEDDLE_OK) << what << ": " << heddle_error_message();
        break;
      }
      ++failures;
      ASSERT_EQ(status, HEDDLE_OUT_OF_MEMORY) << what << ", allocation " << number << ": " << heddle_error_message();
    }
    EXPECT_GT(failures, 0) << what;
  }

  std::vector<std::byte> artifact;
};

// A function of the caller, such as a training's `report`, may throw an object that is no std::exception.
TEST(ApiCall, NoExceptionLeavesIt) {
  EXPECT_EQ(heddle::guarded([]() -> heddle::Status { throw 5; }), HEDDLE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heddle_error_message()).find("threw an exception"), std::string::npos);
}

TEST_P(AllocationTest, OpeningFailsAsAWhole) {
  failEach("open", [&] {
    heddle_session *session = nullptr;
    heddle_status status = open(session);
    EXPECT_EQ(session != nullptr, status == HEDDLE_OK);
    heddle_close(session);
    return status;
  });
}

TEST_P(AllocationTest, FirstCallsFailAndTheNextSucceed) {
  failEach("first call", [&] {
    heddle_session *session = nullptr;
    int64_t number = left.exchange(-1);
    EXPECT_EQ(open(session), HEDDLE_OK) << heddle_error_message();
    left = number;
    heddle_status status = add(session);
    number = left.exchange(-1);
    EXPECT_EQ(add(session), HEDDLE_OK) << heddle_error_message();
    heddle_close(session);
    left = number;
    return status;
  });
}

TEST_P(AllocationTest, LaterWorkFailsAndTheNextSucceeds) {
  heddle_session *session = nullptr;
  ASSERT_EQ(open(session), HEDDLE_OK) << heddle_error_message();
  std::vector<float> weight(1000, 1.5f);
  int64_t extent = 1000;
  heddle_tensor value{"weight", HEDDLE_F32, 1, &extent, weight.data()};
  failEach("write", [&] { return heddle_write_variable(session, &value); });
  failEach("call", [&] { return add(session); });
  failEach("init", [&] { return heddle_init(session, 2); });
  EXPECT_EQ(add(session), HEDDLE_OK) << heddle_error_message();
  heddle_close(session);
}

HEDDLE_FOR_EACH_BACKEND(AllocationTest);

} // namespace
} // namespace heddle
