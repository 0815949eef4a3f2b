#include "runtime/data/Records.h"
#include "runtime/core/Npy.h"
#include "runtime/data/BatchSource.h"
#include "runtime/tokenizers/LabelledVocabulary.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace heddle;
using heddle::test::TemporaryFolder;

namespace {

void expectPart(const std::string &message, std::string_view part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// Words are whole pieces, so that lengths are easy to count.
class RecordsTest : public testing::Test {
protected:
  std::unique_ptr<TextCodec> vocabulary(std::vector<std::string> labels = {"n", "v"}) {
    auto tokens = Tokenizer::train({folder.write("words", "a b c d\n")}, 8, {.type = VocabularyType::Word});
    return std::make_unique<LabelledVocabulary>(std::make_unique<Tokenizer>(std::move(tokens).value()),
                                                std::move(labels));
  }
  Result<LineBlocks> open(std::string_view lines) {
    return LineBlocks::open(folder.write("records", lines), folder.path(), BlockBegin::AnyLine);
  }
  Result<Corpus> read(std::string_view lines, Labelling kind, int64_t maximumLength = 16, Marks marks = {}) {
    HEDDLE_ASSIGN(LineBlocks records, open(lines));
    std::unique_ptr<TextCodec> known = vocabulary();
    return readCorpus(LabelledTexts(records, *known, kind, maximumLength, marks));
  }

  TemporaryFolder folder;
};

TEST_F(RecordsTest, ATextHasMarksAndALabel) {
  auto corpus = read("{\"text\": \"a b\", \"label\": \"v\"}\n\n{\"tokens\": [\"c\"], \"label\": \"n\", \"more\": 1}\n",
                     Labelling::Texts);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  ASSERT_EQ(corpus->examples.size(), 2u);
  EXPECT_EQ(corpus->report.describe(16), "2 records");
  std::vector<Batch> batches =
      packInOrder(corpus->examples, {.maximumTokens = 16, .maximumSequences = 4, .maximumLength = 16});
  ASSERT_EQ(batches.size(), 1u);
  const Batch &batch = batches[0];
  EXPECT_EQ(batch.source.layout.lengths, (std::vector<int32_t>{4, 3}));
  EXPECT_EQ(batch.source.tokens.front(), kBeginId);
  EXPECT_EQ(batch.source.tokens[3], kEndId);
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{1, 0}));
  EXPECT_TRUE(batch.labelled.empty());
  EXPECT_EQ(batch.predictions(), 2);
  EXPECT_EQ(batch.sequences(), 2);
}

// Texts that belong together need no label. The marks are those of single texts.
TEST_F(RecordsTest, PairsOfTheSource) {
  Marks marks{.joinsPairs = true};
  constexpr const char *kPairs = R"({"left": " a b", "right": "c"}
{"left": "a", "right": "b c d", "grade": 2})";
  auto corpus = read(kPairs, Labelling::Partners, 4, marks);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->report.describe(4), "1 of 2 records; skipped 1 longer than 4 tokens");
  ASSERT_EQ(corpus->examples.size(), 1u);
  Example pair = corpus->examples[0];
  EXPECT_EQ(pair.source.size(), 4u);
  EXPECT_EQ(pair.partner.size(), 3u);
  EXPECT_TRUE(pair.right.empty());
  EXPECT_EQ(pair.sequences(), 2);
  EXPECT_EQ(pair.sourceRows(marks), 7);

  expectPart(read(kPairs, Labelling::Grades, 16, marks).message(), "line 1 has no \"grade\"");
  expectPart(read(R"({"left": "a"})", Labelling::Partners, 16, marks).message(),
             R"(has no "right", a string; each line is a record such as {"left": "what does a dog do", )");
}

// Has marks around a text, and no form for pairs.
class WithoutPairs final : public TextCodec {
public:
  std::vector<int32_t> encode(std::string_view text) const override {
    return std::vector<int32_t>(text.size(), int32_t(3));
  }
  std::string decode(std::span<const int32_t>) const override { return {}; }
  std::string piece(int32_t) const override { return "x"; }
  int32_t pieces() const override { return 4; }
  const InputMarks *inputMarks() const override { return &marks; }
  const std::vector<TokenizerFile> &files() const override { return none; }

private:
  InputMarks marks{{1}, {2}, std::nullopt};
  std::vector<TokenizerFile> none;
};

TEST_F(RecordsTest, APairNeedsATemplate) {
  auto encode = [](std::string text) {
    return encodeRecord({.text = std::move(text)}, Labelling::Texts, WithoutPairs(), {}, "line 7", {});
  };
  ASSERT_TRUE(encode("a b").ok());
  EXPECT_EQ(encode("ab")->tokens, (std::vector<int32_t>{1, 3, 3, 2}));
  Result<EncodedRecord> pair = encode("a\tb");
  ASSERT_FALSE(pair.ok());
  expectPart(pair.message(), "line 7 has a tab, which separates two texts");
  expectPart(pair.message(), "no template `pair`");
}

TEST_F(RecordsTest, WordsHaveLabelsAtTheirFirstTokens) {
  // "ab" is no piece: letters that the vocabulary does not know become one token.
  auto corpus = read(
      "{\"text\": \" a\\tab  b\", \"labels\": [\"n\", \"v\", \"n\"]}\n{\"tokens\": [\"c\"], \"labels\": [\"v\"]}\n",
      Labelling::Words);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->examples[0].targetRows(), 3);
  Batch batch;
  batch.add(corpus->examples[0]);
  batch.add(corpus->examples[1]);
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{0, 1, 0, 1}));
  ASSERT_EQ(batch.labelled.size(), 4u);
  EXPECT_EQ(batch.labelled[0], 1);
  EXPECT_EQ(batch.labelled[3], batch.source.layout.starts[1] + 1);
}

// Node 1 looks at nodes 0 and 2, and node 2 at itself. Positions in a batch include the marks and the graphs before.
TEST_F(RecordsTest, GraphsHaveEdges) {
  Marks marks{.neighbours = 2};
  std::string graph = "{\"text\": \"a b c\", \"edges\": [[0, 1], [2, 1], [2, 2]], \"labels\": [\"n\", \"v\", \"n\"]}\n";
  auto corpus =
      read("{\"tokens\": [\"a\"], \"edges\": [], \"labels\": [\"n\"]}\n" + graph, Labelling::Words, 16, marks);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  Batch batch(marks);
  batch.add(corpus->examples[0]);
  batch.add(corpus->examples[1]);
  const NeighbourLists &lists = batch.source.lists;
  EXPECT_EQ(lists.degrees, (std::vector<int32_t>{0, 0, 0, 0, 0, 2, 1, 0}));
  EXPECT_EQ(lists.neighbours, (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 6, 6, 0, 0, 0}));
  EXPECT_EQ(lists.uses, (std::vector<int32_t>{0, 0, 0, 0, 1, 0, 2, 0}));
  EXPECT_EQ(lists.users, (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(lists.slots, (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
}

TEST_F(RecordsTest, EdgesThatAreNoneAreErrors) {
  auto message = [&](std::string_view edges) {
    auto corpus = read(str("{\"text\": \"a b\"", edges, ", \"labels\": [\"n\", \"v\"]}\n"), Labelling::Words, 16,
                       {.neighbours = 2});
    return corpus.ok() ? std::string() : corpus.message();
  };
  expectPart(message(""), "has no \"edges\", and the model is one of graphs");
  expectPart(message(", \"edges\": 3"), "has \"edges\" that are not a list");
  for (const char *edge : {"[0, 2]", "[-1, 0]", "[0]", "[0, 1, 1]", "[0, 0.5]", "\"ab\"", "[0, 4294967296]"})
    expectPart(message(str(", \"edges\": [", edge, "]")), "has the edge ");
  expectPart(message(", \"edges\": [[0, 1], [0, 1], [1, 1]]"), "has more than 2 edges to word 1");
  expectPart(message(", \"edges\": [[0, 1], [0, 1], [0, 0]]"), "has more than 2 edges from word 0");
  EXPECT_EQ(message(", \"edges\": [[0, 1], [0, 1]]"), "");
}

// The begin mark belongs to the first sentence, and the end mark to the last.
TEST_F(RecordsTest, TextsHaveSentences) {
  Marks marks{.sentences = 3};
  auto corpus = read("{\"text\": [\"a\"], \"label\": \"n\"}\n{\"text\": [\"a b\", \"c\", \"d a\"], \"label\": \"v\"}\n",
                     Labelling::Texts, 16, marks);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  Batch batch(marks);
  batch.add(corpus->examples[0]);
  batch.add(corpus->examples[1]);
  const SourceBatch &source = batch.source;
  EXPECT_EQ(source.sentences.positions, (std::vector<int32_t>{0, 0, 1, 2}));
  EXPECT_EQ(source.sentences.starts, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(source.sentences.lengths, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(source.words.starts, (std::vector<int32_t>{0, 3, 6, 7}));
  EXPECT_EQ(source.words.lengths, (std::vector<int32_t>{3, 3, 1, 3}));
}

TEST_F(RecordsTest, SentencesThatAreNoneAreErrors) {
  auto message = [&](std::string_view text) {
    auto corpus = read(str("{\"text\": ", text, ", \"label\": \"n\"}\n"), Labelling::Texts, 16, {.sentences = 2});
    return corpus.ok() ? std::string() : corpus.message();
  };
  expectPart(message("\"a b\""), "has no sentences, and the model tells them apart");
  expectPart(message("[\"a\", \" \"]"), "has a sentence without a word");
  expectPart(message("[\"a\", 3]"), "a string or a list of sentences");
  expectPart(message("[]"), "has a text without a word");
  expectPart(message("[\"a\", \"b\", \"c\"]"), "has 3 sentences, and the model was compiled for 2");
  EXPECT_EQ(message("[\"a\", \"b\"]"), "");
}

// If the model does not tell sentences apart, a list of sentences is one text.
TEST_F(RecordsTest, AListOfSentencesIsAText) {
  auto corpus = read("{\"text\": [\"a b\", \"c\"], \"label\": \"n\"}\n{\"text\": \"a b c\", \"label\": \"n\"}\n",
                     Labelling::Texts);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  std::span<const int32_t> list = corpus->examples[0].source, text = corpus->examples[1].source;
  EXPECT_EQ(std::vector<int32_t>(list.begin(), list.end()), std::vector<int32_t>(text.begin(), text.end()));
}

TEST_F(RecordsTest, ACutLeavesNoSentenceBehind) {
  EncodedRecord record{{kBeginId, 5, 6, 7, 8, kEndId}, {}, {}, {3, 2, 1}};
  record.cut(4, {});
  EXPECT_EQ(record.sentences, (std::vector<int32_t>{3, 1}));
  record.cut(3, {});
  EXPECT_EQ(record.sentences, (std::vector<int32_t>{3}));
}

// Images have one shape, and come as lists or as a file beside the records. One number per pixel is one channel.
TEST_F(RecordsTest, ImagesHavePixels) {
  Marks marks;
  marks.image = {2, 3, 1};
  std::vector<float> stored = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3};
  ASSERT_TRUE(writeNpy(folder.path() / "stored.npy", TensorView::of(std::span<const float>(stored), shape)).ok());
  auto corpus =
      read("{\"image\": [[0, 0.5, 1], [1, 2, -3]], \"label\": \"n\"}\n{\"image\": \"stored.npy\", \"label\": \"v\"}\n",
           Labelling::Texts, 4, marks);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  std::vector<Batch> batches =
      packInOrder(corpus->examples, {.maximumTokens = 12, .maximumSequences = 4, .maximumLength = 4, .marks = marks});
  ASSERT_EQ(batches.size(), 1u);
  const Batch &batch = batches[0];
  EXPECT_EQ(batch.source.pixels, (std::vector<float>{0, 0.5, 1, 1, 2, -3, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(batch.source.layout.starts, (std::vector<int32_t>{0, 6}));
  EXPECT_EQ(batch.source.layout.lengths, (std::vector<int32_t>{6, 6}));
  EXPECT_EQ(batch.source.layout.positions, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{0, 1}));
  EXPECT_TRUE(batch.source.tokens.empty());
  EXPECT_EQ(
      packInOrder(corpus->examples, {.maximumTokens = 11, .maximumSequences = 4, .maximumLength = 4, .marks = marks})
          .size(),
      2u);
}

// A text in memory or from a pipe lies in /proc/self/fd or /dev/fd, where no image files are.
TEST_F(RecordsTest, ImageFilesOfATextWithoutAFolderAreInTheWorkingDirectory) {
  std::string file = folder.path().lexically_relative(std::filesystem::current_path()) / "pixel.npy";
  float pixel = 3;
  int64_t extents[] = {1, 1};
  ASSERT_TRUE(writeNpy(file, TensorView::of(std::span<const float>(&pixel, 1), extents)).ok());
  for (const char *place : {"/proc/self/fd", "/dev/fd", ""}) {
    auto pixels = readImageLine(str(R"({"image": ")", file, "\"}"), {1, 1, 1}, place, "line 1");
    ASSERT_TRUE(pixels.ok()) << pixels.message();
    EXPECT_EQ(*pixels, std::vector<float>{3});
  }
}

TEST_F(RecordsTest, ImagesThatAreNoneAreErrors) {
  auto message = [&](std::string_view image, ImageShape shape = {1, 2, 2}) {
    Marks marks;
    marks.image = shape;
    auto corpus = read(str("{", image, image.empty() ? "\"text\": \"a\"" : "", ", \"label\": \"n\"}\n"),
                       Labelling::Texts, 16, marks);
    return corpus.ok() ? std::string() : corpus.message();
  };
  EXPECT_EQ(message("\"image\": [[[1, 2], [3, 4]]]"), "");
  EXPECT_EQ(message("\"text\": \"a\", \"image\": [[[1, 2], [3, 4]]]"), "");
  expectPart(message(""), "records' line 1 has no \"image\", and the model takes images");
  expectPart(message("\"image\": 3"), "that is no list of rows");
  expectPart(message("\"image\": []"), "that is no list of rows");
  expectPart(message("\"image\": [[1, 2], [3]]"), "whose rows are not of one length");
  expectPart(message("\"image\": [[[1, 2], 3]]"), "whose pixels are not of as many channels");
  expectPart(message("\"image\": [[[1, 2], [3]]]"), "whose pixels are not of as many channels");
  expectPart(message("\"image\": [[\"a\"]]"), "with something else than finite numbers");
  expectPart(message("\"image\": [[1e39]]"), "with something else than finite numbers");
  expectPart(message("\"image\": \"\""), "without a name");
  expectPart(message("\"image\": \"absent.npy\""), "absent.npy");
  expectPart(message("\"image\": [[1, 2]]"),
             "has an image of 1 x 2 pixels, and the model takes images of 1 x 2 pixels of 2 channels");
  expectPart(message("\"image\": [[1, 2]]", {}), "has an image and no text, and the model takes texts");
}

// When a long text is cut, edges of lost words are lost, too.
TEST_F(RecordsTest, ACutLeavesNoEdgeBehind) {
  EncodedRecord record{{kBeginId, 5, 6, 7, kEndId}, {1, 2, 3}, {{1, 2}, {3, 1}, {2, 3}, {2, 1}}, {}};
  record.cut(4, {});
  EXPECT_EQ(record.tokens, (std::vector<int32_t>{kBeginId, 5, 6, kEndId}));
  ASSERT_EQ(record.edges.size(), 2u);
  EXPECT_EQ(record.edges[1].from, 2);
  EXPECT_EQ(record.edges[1].to, 1);
}

// A batch is full if its sequences, its tokens or its labels reach their limit.
TEST_F(RecordsTest, BatchesKeepTheirLimits) {
  std::string lines;
  for (int i = 0; i < 9; ++i)
    lines += "{\"text\": \"a b c\", \"labels\": [\"n\", \"v\", \"n\"]}\n";
  auto corpus = read(lines, Labelling::Words);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  BatchLimits limits{.maximumTokens = 12, .maximumSequences = 8, .maximumLength = 16};
  EXPECT_EQ(packInOrder(corpus->examples, limits).size(), 5u);
  limits = {.maximumTokens = 100, .maximumSequences = 4, .maximumLength = 16};
  std::vector<uint32_t> order;
  std::vector<size_t> ends;
  planBatches(corpus->examples, {.limits = limits}, 0, 0, order, ends);
  EXPECT_EQ(order.size(), 9u);
  EXPECT_EQ(ends.size(), 3u);
  EXPECT_EQ(packInOrder(corpus->examples, limits).size(), 3u);
}

TEST_F(RecordsTest, LongRecordsAreLeftOut) {
  auto corpus =
      read("{\"text\": \"a b c\", \"label\": \"n\"}\n{\"text\": \"a b\", \"label\": \"n\"}\n", Labelling::Texts, 4);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->report.describe(4), "1 of 2 records; skipped 1 longer than 4 tokens");
}

TEST_F(RecordsTest, LabelsAreCollectedInOrder) {
  auto records =
      open("{\"text\": \"a\", \"label\": \"z\"}\n{\"text\": \"a\", \"label\": 10}\n{\"text\": \"b\", \"label\": true}\n"
           "{\"text\": \"a\", \"label\": \"10\"}\n");
  ASSERT_TRUE(records.ok());
  auto labels = collectLabels(*records, Labelling::Texts);
  ASSERT_TRUE(labels.ok()) << labels.message();
  EXPECT_EQ(*labels, (std::vector<std::string>{"10", "true", "z"}));
}

TEST_F(RecordsTest, MistakesNameFileAndLine) {
  auto corpus = read("{\"text\": \"a\", \"label\": \"v\"}\n\n{\"text\": \"a\", \"label\": \"w\"}\n", Labelling::Texts);
  ASSERT_FALSE(corpus.ok());
  EXPECT_NE(corpus.message().find("records' line 3 has the label 'w'"), std::string::npos) << corpus.message();
}

// Any line is a record or an error.
TEST_F(RecordsTest, LinesOfAnyKindAreRecordsOrMistakes) {
  for (const char *line : {"", "{", "[]", "0", "null", "\"text\"", "{}", "{\"text\": 3}", "{\"text\": {}}",
                           "{\"tokens\": {}}", "{\"tokens\": []}", "{\"text\": \"a\", \"label\": [], \"labels\": 1}",
                           "{\"text\": \"a\", \"label\": 1.5, \"labels\": [1.5]}",
                           "{\"text\": \"a\", \"label\": \"\", \"labels\": [\"\"]}",
                           "{\"text\": \"\\ud800\", \"label\": 1, \"labels\": [1]}"})
    for (Labelling kind : {Labelling::Texts, Labelling::Words})
      EXPECT_FALSE(Record::parse(line, "here", kind, true).ok()) << line;
  EXPECT_TRUE(Record::parse("{\"text\": \"a\"}", "here", Labelling::Texts, false).ok());
}

TEST_F(RecordsTest, TheVocabularyKeepsLabels) {
  std::unique_ptr<TextCodec> known = vocabulary({"v", "\"quoted\"", "ä"});
  for (const TokenizerFile &file : known->files())
    folder.write(file.name, file.bytes);
  auto again = LabelledVocabulary::load(vocabulary(), folder.path());
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ((*again)->labels(), known->labels());
  EXPECT_EQ((*again)->encode("a b"), known->encode("a b"));
  folder.write("labels.json", "{}");
  EXPECT_FALSE(LabelledVocabulary::load(vocabulary(), folder.path()).ok());
}

// Both texts have marks, and each side's tokens are counted.
TEST_F(RecordsTest, PairsHaveTwoTextsAndALabelOrAGrade) {
  auto readPairs = [&](std::string_view lines, Labelling kind, int64_t maximumLength = 16) -> Result<Corpus> {
    HEDDLE_ASSIGN(LineBlocks records, open(lines));
    std::unique_ptr<TextCodec> known = vocabulary();
    return readCorpus(LabelledTexts(records, *known, kind, maximumLength, {}));
  };
  auto labels = readPairs("{\"left\": \"a b\", \"right\": \"c\", \"label\": \"v\"}\n\n{\"left\": \"a\", \"right\": \"b "
                          "c d\", \"label\": \"n\"}\n",
                          Labelling::Pairs);
  ASSERT_TRUE(labels.ok()) << labels.message();
  Batch batch;
  for (size_t i = 0; i < labels->examples.size(); ++i)
    batch.add(labels->examples[i]);
  EXPECT_EQ(batch.source.layout.lengths, (std::vector<int32_t>{4, 3}));
  EXPECT_EQ(batch.right.layout.lengths, (std::vector<int32_t>{3, 5}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(batch.predictions(), 2);
  BatchLimits limits{.maximumTokens = 16, .maximumSequences = 8, .maximumLength = 16};
  std::vector<int32_t> left(1), right(9);
  EXPECT_FALSE(batch.hasRoomFor({.source = left, .right = right}, limits));
  right.pop_back();
  EXPECT_TRUE(batch.hasRoomFor({.source = left, .right = right}, limits));

  auto grades = readPairs(
      "{\"left\": \"a\", \"right\": \"b\", \"grade\": 3.5}\n{\"left\": \"a\", \"right\": \"a b c d\", \"grade\": -1}\n",
      Labelling::Grades, 5);
  ASSERT_TRUE(grades.ok()) << grades.message();
  EXPECT_EQ(grades->report.overLong, 1u);
  Batch graded;
  graded.add(grades->examples[0]);
  EXPECT_EQ(graded.grades, (std::vector<float>{3.5f}));
  EXPECT_TRUE(graded.labels.empty());
}

} // namespace
