// Fails a test program if Vulkan's validation layers have complained, and finds this machine's drivers.
#pragma once

#include "runtime/session/Session.h"

#include <gtest/gtest.h>

namespace heddle::test {

class VulkanEnvironment : public testing::Environment {
public:
  void TearDown() override { EXPECT_EQ(validationMessageCount(), 0u) << "messages of Vulkan's validation layers"; }
};

// Use once per program: `static auto *environment = test::watchValidation();`
inline testing::Environment *watchValidation() { return testing::AddGlobalTestEnvironment(new VulkanEnvironment); }

} // namespace heddle::test
