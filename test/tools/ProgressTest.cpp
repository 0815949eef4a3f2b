#include "tools/heddle-run/report/Progress.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;

namespace {

// The time left excludes compiling kernels and the first step.
TEST(Progress, TellsOfKernelsApart) {
  std::FILE *out = std::tmpfile();
  {
    Progress progress(out, /*terminal=*/false, 10);
    for (size_t kernel = 1; kernel <= 3; ++kernel)
      progress.kernels(kernel, 3);
    for (uint64_t step : {1, 10})
      progress.step({.step = step,
                     .loss = 2.5,
                     .learningRate = 1e-3,
                     .sourceTokens = 50,
                     .targetTokens = 50,
                     .seconds = step == 1 ? 1000.0 : 1.0});
  }
  std::rewind(out);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  EXPECT_EQ(text, "compiling kernels: 1 of 3\ncompiling kernels: 3 of 3\n"
                  "step 1 of 10  loss 2.5000  rate 1.00e-03\n"
                  "step 10 of 10  loss 2.5000  rate 1.00e-03  100 tokens/s  0 s left\n");
}

// A processor runs a step while the host still waits for the one before, so the times of single steps are uneven.
TEST(Progress, RateOfUnevenSteps) {
  std::FILE *out = std::tmpfile();
  {
    Progress progress(out, /*terminal=*/false, 200);
    for (uint64_t step = 1; step <= 200; ++step)
      progress.step({.step = step, .sourceTokens = 50, .targetTokens = 50, .seconds = step % 2 ? 0.0001 : 2.0});
  }
  std::rewind(out);
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out))
    text += static_cast<char>(c);
  std::fclose(out);
  size_t last = text.rfind("step 200 of 200");
  ASSERT_NE(last, std::string::npos) << text;
  double rate = 0;
  ASSERT_EQ(std::sscanf(text.c_str() + text.find("rate", last), "rate %*s %lf tokens/s", &rate), 1) << text;
  EXPECT_NEAR(rate, 100, 15);
}

TEST(Progress, Durations) {
  EXPECT_EQ(describeDuration(0.2), "0 s");
  EXPECT_EQ(describeDuration(59.6), "1 min 0 s");
  EXPECT_EQ(describeDuration(7500), "2 h 05 min");
}

} // namespace
