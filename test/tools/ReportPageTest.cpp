#include "tools/heddle-run/report/ReportPage.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;
using heddle::test::TemporaryFolder;

namespace {

std::string stepRecord(uint64_t step, double loss) {
  return str("{\"step\":", step, ",\"loss\":", loss, ",\"learning_rate\":0.001,\"tokens_per_second\":100,",
             "\"source_tokens\":30,\"target_tokens\":20,\"seconds\":0.5}\n");
}

TrainingCurves readLog(const TemporaryFolder &folder, const std::string &text) {
  auto curves = TrainingCurves::read(folder.write("log.jsonl", text));
  EXPECT_TRUE(curves.ok()) << curves.message();
  return curves.ok() ? std::move(*curves) : TrainingCurves();
}

TEST(Curve, KeepsAllOfAShortLogAndMeansOfALongOne) {
  Curve curve;
  for (uint64_t i = 1; i <= Curve::kMostPoints; ++i)
    curve.add({i}, double(i));
  ASSERT_EQ(curve.points().size(), Curve::kMostPoints);
  EXPECT_EQ(curve.points()[7].mean(), 8);

  uint64_t last = 10 * Curve::kMostPoints + 3;
  for (uint64_t i = Curve::kMostPoints + 1; i <= last; ++i)
    curve.add({i}, double(i));
  EXPECT_LE(curve.points().size(), Curve::kMostPoints);
  EXPECT_GE(curve.points().size(), Curve::kMostPoints / 2);
  uint64_t records = 0;
  for (const Curve::Point &point : curve.points()) {
    EXPECT_EQ(point.low, double(records + 1));
    records += point.records;
    EXPECT_EQ(point.high, double(records));
    EXPECT_EQ(point.place.step, records);
    EXPECT_EQ(point.mean(), (point.low + point.high) / 2);
  }
  EXPECT_EQ(records, last);
}

TEST(TrainingCurves, KeepTheWordsInPlaceOfTheLastScore) {
  TemporaryFolder folder;
  TrainingCurves run =
      readLog(folder, stepRecord(1, 5) + "{\"step\":1,\"bleu\":1,\"words_in_place\":[[1,5,0.25,4]]}\n" +
                          "{\"step\":1,\"bleu\":1,\"words_in_place\":[[1,5,0.5,4],[6,10,1,12],[1],\"x\"]}\n");
  ASSERT_EQ(run.wordsInPlace.size(), 2u);
  EXPECT_EQ(run.wordsInPlace[0][2], 0.5);
  EXPECT_EQ(run.wordsInPlace[1][0], 6);
}

TEST(TrainingCurves, ReadStepsValidationsAndScores) {
  TemporaryFolder folder;
  TrainingCurves run = readLog(
      folder, stepRecord(1, 5) + stepRecord(2, 4) +
                  "{\"step\":2,\"validation_loss\":4.5,\"validation_perplexity\":90,\"validation_bleu\":1.5}\n" +
                  "{\"loss\":9,\"bleu\":33.5,\"step\":2}\n{\"bleu\":1}\nno record\n[1]\n{\"step\":-3,\"loss\":1}\n" +
                  stepRecord(3, 3) + "{\"step\":4,\"los");
  EXPECT_EQ(run.end.step, 3u);
  EXPECT_EQ(run.end.tokens, 150);
  EXPECT_EQ(run.end.seconds, 1.5);
  ASSERT_EQ(run.curves["loss"].points().size(), 3u);
  EXPECT_EQ(run.curves["loss"].points()[2].mean(), 3);
  EXPECT_EQ(run.curves["loss"].points()[1].place.tokens, 100);
  ASSERT_EQ(run.curves["validation_loss"].points().size(), 1u);
  EXPECT_EQ(run.curves["validation_loss"].points()[0].place.step, 2u);
  EXPECT_EQ(run.curves["validation_loss"].points()[0].place.tokens, 100);
  EXPECT_EQ(run.curves["validation_bleu"].points()[0].mean(), 1.5);
  ASSERT_EQ(run.curves["bleu"].points().size(), 1u);
  EXPECT_EQ(run.curves["bleu"].points()[0].mean(), 33.5);
  EXPECT_EQ(run.curves.count("gradient_norm"), 0u);
}

TEST(TrainingCurves, StepsTakenAgainReplaceTheFormer) {
  TemporaryFolder folder;
  TrainingCurves run =
      readLog(folder, stepRecord(1, 5) + stepRecord(2, 4) + stepRecord(3, 9) + "{\"step\":3,\"validation_loss\":9}\n" +
                          stepRecord(2, 3) + stepRecord(3, 2));
  ASSERT_EQ(run.curves["loss"].points().size(), 3u);
  EXPECT_EQ(run.curves["loss"].points()[1].mean(), 3);
  EXPECT_TRUE(run.curves["validation_loss"].points().empty());
}

TEST(TrainingCurves, WithoutARecordIsAnError) {
  TemporaryFolder folder;
  auto curves = TrainingCurves::read(folder.write("log.jsonl", "{\"bleu\":30}\njunk\n"));
  ASSERT_FALSE(curves.ok());
  EXPECT_NE(curves.message().find("no record of a training"), std::string::npos);
  EXPECT_FALSE(TrainingCurves::read(folder.path() / "absent").ok());
}

TEST(ReportPage, DataAreTheCurves) {
  TemporaryFolder folder;
  TrainingCurves run =
      readLog(folder, stepRecord(1, 5.123456789) + stepRecord(2, 4) + "{\"step\":2,\"validation_loss\":4.5}\n");
  run.name = "</script><b>run</b>";
  HtmlPage page = reportPage({run, run});
  nlohmann::ordered_json data = page.data;
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][0]["end"].dump(), "[2,100.0,1.0]");
  EXPECT_EQ(data["runs"][0]["curves"]["loss"].dump(), "[[1,50.0,0.5,5.12346],[2,100.0,1.0,4.0]]");
  EXPECT_EQ(data["runs"][0]["curves"]["validation_loss"].dump(), "[[2,100.0,1.0,4.5]]");
  std::string html = page.html();
  EXPECT_EQ(html.find("<b>run"), std::string::npos);
  EXPECT_EQ(html.find("http://"), html.find("http://www.w3.org/2000/svg")) << "the page needs the network";
  EXPECT_EQ(html.find("https://"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
}

} // namespace
