#include "tools/heddle-run/report/ExplainPage.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using namespace heddle::run;

namespace {

ExplainPage samplePage() {
  ExplainPage page;
  page.source = "a b";
  page.target = "c";
  page.sourceTokens = {"\u2581a", "\u2581b", "</s>"};
  page.targetTokens = {"<s>", "\u2581c"};
  page.nextTokens = {"\u2581c", "</s>"};
  page.maps.push_back({"decoder.cross", 0, "target", "source", 1, 2, 3, {0.25f, 0.5f, 0.25f, 1.0f / 3, 0, 2.0f / 3}});
  return page;
}

std::string between(const std::string &text, const std::string &begin, const std::string &end) {
  size_t from = text.find(begin);
  if (from == std::string::npos)
    return "no " + begin;
  from += begin.size();
  return text.substr(from, text.find(end, from) - from);
}

// Extracts the data as a browser does: up to the first end tag.
nlohmann::json dataOf(const std::string &html) {
  return nlohmann::json::parse(between(html, "<script type=\"application/json\" id=\"data\">", "</script"), nullptr,
                               /*allow_exceptions=*/false);
}

size_t count(const std::string &text, std::string_view what) {
  size_t times = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++times;
  return times;
}

TEST(ExplainPage, HasTokensAndWeights) {
  nlohmann::json data = dataOf(samplePage().page().html());
  EXPECT_EQ(data["sentences"], nlohmann::json({"a b", "c"}));
  EXPECT_EQ(data["source"], nlohmann::json({"\u2581a", "\u2581b", "</s>"}));
  EXPECT_EQ(data["next"], nlohmann::json({"\u2581c", "</s>"}));
  ASSERT_EQ(data["maps"].size(), 1u);
  EXPECT_EQ(data["maps"][0]["kind"], "decoder.cross");
  EXPECT_EQ(data["maps"][0]["weights"].dump(), "[[[0.25,0.5,0.25],[0.333333,0.0,0.666667]]]");
}

TEST(ExplainPage, TextIsTextWhateverIsInIt) {
  size_t tags = count(samplePage().page().html(), "<"), ends = count(samplePage().page().html(), "</script>");
  for (std::string hostile :
       {"</script><script>alert(1)</script>", "<!--<script>", "\"quotes\" and \\ and '", "%DATA% and %TITLE%",
        "</title><img src=x onerror=alert(1)>", "a & b < c > d", "&amp; \u2028\u2029", "line\nbreak\ttab \x01"}) {
    ExplainPage page = samplePage();
    page.source = page.sourceTokens[0] = page.target = page.nextTokens[1] = hostile;
    std::string html = page.page().html();
    nlohmann::json data = dataOf(html);
    EXPECT_EQ(data["sentences"], nlohmann::json({hostile, hostile}));
    EXPECT_EQ(data["source"][0], hostile);
    EXPECT_EQ(data["next"][1], hostile);
    EXPECT_EQ(count(html, "<"), tags) << hostile;
    EXPECT_EQ(count(html, "</script>"), ends) << hostile;
  }
  ExplainPage page = samplePage();
  page.source = "a & b </title>";
  EXPECT_EQ(between(page.page().html(), "<title>", "</title>"), "Attention: a &amp; b &lt;/title&gt;");
}

TEST(ExplainPage, ReplacesBytesThatAreNotUtf8) {
  ExplainPage page = samplePage();
  page.source = page.sourceTokens[1] = "caf\xe9";
  nlohmann::json data = dataOf(page.page().html());
  EXPECT_EQ(data["sentences"][0], "caf\ufffd");
  EXPECT_EQ(data["source"][1], "caf\ufffd");
}

TEST(ExplainPage, NeedsNothingFromElsewhere) {
  std::string html = samplePage().page().html();
  for (std::string_view foreign : {"src=", "href=", "url(", "import ", "fetch(", "https:"})
    EXPECT_EQ(count(html, foreign), 0u) << foreign;
}

TEST(ExplainPage, WritesTheWholeFileOrNothing) {
  test::TemporaryFolder folder;
  ExplainPage page = samplePage();
  ASSERT_TRUE(page.page().write(folder.path() / "page.html").ok());
  EXPECT_EQ(folder.read("page.html"), page.page().html());
  EXPECT_FALSE(page.page().write(folder.path() / "absent" / "page.html").ok());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "absent"));
}

} // namespace
