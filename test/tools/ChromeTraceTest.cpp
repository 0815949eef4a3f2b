#include "tools/trace/ChromeTrace.h"
#include "test/runtime/TemporaryFolder.h"
#include "tools/heddle-run/report/Profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <thread>

using namespace heddle;
using namespace heddle::run;
using heddle::test::TemporaryFolder;

namespace {

nlohmann::json read(const ChromeTrace &trace, const TemporaryFolder &folder) {
  std::filesystem::path path = folder.path() / "trace.json";
  Status status = trace.write(path);
  EXPECT_TRUE(status.ok()) << status.message();
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

std::vector<nlohmann::json> slices(const nlohmann::json &trace) {
  std::vector<nlohmann::json> result;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X")
      result.push_back(event);
  return result;
}

TEST(ChromeTrace, HasSpansOfThreadsWhileItListens) {
  TemporaryFolder folder;
  ChromeTrace trace("program");
  {
    Span unheard("before");
  }
  trace.listen(true);
  {
    Span outer("outer");
    outer.with("count", 7).with("name", "a \"quoted\" \xff name");
    Span inner("inner");
    std::thread([] {
      nameThread("helper");
      Span span("apart");
    }).join();
    std::thread([] { Span span("nameless"); }).join();
  }
  trace.listen(false);
  {
    Span unheard("after");
  }

  nlohmann::json json = read(trace, folder);
  std::map<int, std::string> threads;
  for (const auto &event : json["traceEvents"]) {
    if (event["name"] == "process_name") {
      EXPECT_EQ(event["args"]["name"], "program");
    }
    if (event["name"] == "thread_name")
      threads[event["tid"]] = event["args"]["name"];
  }
  auto found = slices(json);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0]["name"], "outer"); // an outer event precedes the events inside it
  EXPECT_EQ(found[0]["args"]["count"], 7);
  EXPECT_EQ(found[0]["args"]["name"], "a \"quoted\" \ufffd name");
  EXPECT_EQ(found[1]["name"], "inner");
  EXPECT_EQ(threads[found[1]["tid"]], "main");
  EXPECT_EQ(found[2]["name"], "apart");
  EXPECT_EQ(threads[found[2]["tid"]], "helper");
  EXPECT_EQ(threads[found[3]["tid"]].substr(0, 7), "thread ");
  EXPECT_LE(found[0]["ts"].get<double>(), found[1]["ts"].get<double>());
  EXPECT_GE(found[0]["dur"].get<double>(), found[1]["dur"].get<double>());
}

TEST(ChromeTrace, TimesAreExactNanoseconds) {
  TemporaryFolder folder;
  ChromeTrace trace("program");
  int device = trace.addProcess("device");
  ChromeTrace::Time start = ChromeTrace::Time::clock::now();
  auto at = [&](int64_t nanoseconds) { return start + std::chrono::nanoseconds(nanoseconds); };
  trace.add(device, "queue", "first", at(0), at(1'234'567'891), "{}");
  trace.add(device, "queue", "second", at(1'234'567'891), at(1'234'567'892), "{\"flops\":1.5}");
  trace.add(device, "queue", "all", at(0), at(1'234'567'892), "{}");
  auto found = slices(read(trace, folder));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]["name"], "all");
  EXPECT_EQ(found[0]["dur"].dump(), "1234567.892");
  EXPECT_EQ(found[1]["dur"].dump(), "1234567.891");
  EXPECT_EQ(found[2]["dur"].dump(), "0.001");
  EXPECT_EQ(found[2]["args"]["flops"], 1.5);
}

TEST(ChromeTrace, HasAnEnd) {
  TemporaryFolder folder;
  ChromeTrace trace("program");
  ChromeTrace::Time now = ChromeTrace::Time::clock::now();
  for (size_t i = 0; i < ChromeTrace::kMostEvents + 3; ++i) {
    EXPECT_EQ(trace.full(), i >= ChromeTrace::kMostEvents);
    trace.add(1, "main", "event", now, now, "{}");
  }
  nlohmann::json json = read(trace, folder);
  EXPECT_EQ(slices(json).size(), ChromeTrace::kMostEvents);
  EXPECT_EQ(json["otherData"]["left_out"], "the 3 events after the first 200000");
}

TEST(ChromeTrace, AFileThatCannotBeWrittenIsAnError) {
  TemporaryFolder folder;
  EXPECT_FALSE(ChromeTrace("program").write(folder.path() / "none" / "trace.json").ok());
  EXPECT_FALSE(Profile::begin(folder.path() / "none" / "trace.json", "train").ok());
  auto none = Profile::begin("", "train");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
}

TEST(StepWindow, IsTwoNumbers) {
  auto window = StepWindow::parse("10:3");
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, 10u);
  EXPECT_EQ(window->count, 3u);
  for (const char *wrong :
       {"", "3", ":", "3:", ":3", "0:1", "1:0", "1:2:3", "1:-2", "a:b", " 1:2", "99999999999999999999:1"})
    EXPECT_FALSE(StepWindow::parse(wrong)) << wrong;
}

} // namespace
