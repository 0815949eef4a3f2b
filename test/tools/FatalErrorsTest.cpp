#include "tools/heddle-compile/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Signals.h"

#include <gtest/gtest.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

using namespace mlir::heddle;

namespace {

class FatalErrors : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Calls the function in many threads at the same time, as compile threads that meet the same error.
template <typename Function> void failTogether(Function function) {
  int count = 1;
  char name[] = "FatalErrorsTest", *arguments[] = {name, nullptr};
  char **values = arguments;
  llvm::InitLLVM init(count, values);
  handleFatalErrors("heddle-compile", "memory ran out; compile a smaller model");
  constexpr int kThreads = 16;
  std::barrier together(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      together.arrive_and_wait();
      function();
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(FatalErrors, OneMessageForABug) {
  EXPECT_EXIT(failTogether([] { llvm::report_fatal_error("Cannot select: a node"); }), testing::ExitedWithCode(1),
              testing::Eq("heddle-compile: error: LLVM failed: Cannot select: a node\n"));
}

TEST_F(FatalErrors, OneMessageForAUsageError) {
  EXPECT_EXIT(failTogether([] { llvm::reportFatalUsageError("no such processor"); }), testing::ExitedWithCode(1),
              testing::Eq("heddle-compile: error: LLVM failed: no such processor\n"));
}

TEST_F(FatalErrors, OneMessageForExhaustedMemory) {
  EXPECT_EXIT(failTogether([] { llvm::report_bad_alloc_error("Allocation failed"); }), testing::ExitedWithCode(1),
              testing::Eq("heddle-compile: error: memory ran out; compile a smaller model\n"));
}

TEST_F(FatalErrors, OneMessageForMissingThreads) {
  EXPECT_EXIT(
      failTogether([] { llvm::report_fatal_error("pthread_create failed: Resource temporarily unavailable"); }),
      testing::ExitedWithCode(1),
      testing::Eq("heddle-compile: error: the system gives the compiler no more threads: pthread_create failed: "
                  "Resource temporarily unavailable; end other programs, or raise the limit (ulimit -u)\n"));
}

TEST_F(FatalErrors, HalfWrittenFilesAreRemoved) {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("half-written-" + std::to_string(::getpid()));
  auto write = [](const std::string &name) {
    std::ofstream(name) << "half";
    llvm::sys::RemoveFileOnSignal(name);
    failTogether([] { llvm::report_fatal_error("Cannot select: a node"); });
  };
  EXPECT_EXIT(write(path.string()), testing::ExitedWithCode(1), "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

} // namespace
