#include "tools/heddle-run/report/Progress.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;

namespace {

// Returns what was written to a temporary file, and closes the file.
std::string takeText(std::FILE *file) {
  std::string text;
  EXPECT_EQ(std::fseek(file, 0, SEEK_SET), 0);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

// The time left excludes compiling kernels and the first step.
TEST(Progress, TellsOfKernelsApart) {
  std::FILE *out = std::tmpfile();
  {
    Progress progress(out, /*terminal=*/false, 10);
    for (size_t kernel = 1; kernel <= 3; ++kernel)
      progress.kernels(kernel, 3);
    for (uint64_t step : {1, 2, 10})
      progress.step({.step = step,
                     .loss = 2.5,
                     .learningRate = 1e-3,
                     .sourceTokens = 50,
                     .targetTokens = 50,
                     .seconds = step == 1 ? 1000.0 : 1.0});
  }
  EXPECT_EQ(takeText(out), "compiling kernels: 1 of 3\ncompiling kernels: 3 of 3\n"
                           "step 1 of 10  loss 2.5000  rate 1.00e-03\n"
                           "step 10 of 10  loss 2.5000  rate 1.00e-03  100 tokens/s  0 s left\n");
}

// On a processor the last step is often done when the host has read the loss of the one before: it takes no time by then.
TEST(Progress, NoRateOfASingleStep) {
  auto last = [](uint64_t steps) {
    std::FILE *out = std::tmpfile();
    {
      Progress progress(out, /*terminal=*/false, steps);
      for (uint64_t step = 1; step <= steps; ++step)
        progress.step({.step = step, .sourceTokens = 50, .targetTokens = 50, .seconds = step == steps ? 0.00001 : 1.0});
    }
    std::string text = takeText(out);
    return text.substr(text.rfind("step"));
  };
  EXPECT_EQ(last(2), "step 2 of 2  loss 0.0000  rate 0.00e+00\n");
  EXPECT_EQ(last(3), "step 3 of 3  loss 0.0000  rate 0.00e+00  200 tokens/s  0 s left\n");
}

// A processor runs a step while the host still waits for the one before, so the times of single steps are uneven.
TEST(Progress, RateOfUnevenSteps) {
  std::FILE *out = std::tmpfile();
  {
    Progress progress(out, /*terminal=*/false, 200);
    for (uint64_t step = 1; step <= 200; ++step)
      progress.step({.step = step, .sourceTokens = 50, .targetTokens = 50, .seconds = step % 2 ? 0.0001 : 2.0});
  }
  std::string text = takeText(out);
  size_t last = text.rfind("step 200 of 200"), unit = text.find(" tokens/s", last);
  ASSERT_NE(unit, std::string::npos) << text;
  double rate = std::strtod(text.c_str() + text.rfind(' ', unit - 1), nullptr);
  EXPECT_NEAR(rate, 100, 15);
}

TEST(Progress, Durations) {
  EXPECT_EQ(describeDuration(0.2), "0 s");
  EXPECT_EQ(describeDuration(59.6), "1 min 0 s");
  EXPECT_EQ(describeDuration(7500), "2 h 05 min");
}

} // namespace
