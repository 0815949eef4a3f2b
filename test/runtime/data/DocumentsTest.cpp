#include "runtime/data/Documents.h"
#include "runtime/data/BatchSource.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

using namespace heddle;
using heddle::test::TemporaryFolder;
using Ids = std::vector<int32_t>;

namespace {

// Each byte is a token, so that tokens are easy to tell.
struct Bytes final : TextCodec {
  std::vector<int32_t> encode(std::string_view line) const override { return {line.begin(), line.end()}; }
  std::string decode(std::span<const int32_t> ids) const override { return {ids.begin(), ids.end()}; }
  std::string piece(int32_t id) const override { return std::string(1, char(id)); }
  int32_t pieces() const override { return 256; }
  const std::vector<TokenizerFile> &files() const override { return none; }
  std::vector<TokenizerFile> none;
};

Ids ids(std::string_view text) { return {text.begin(), text.end()}; }

std::vector<std::string> sequencesOf(const Examples &examples) {
  std::vector<std::string> all;
  for (size_t i = 0; i < examples.size(); ++i)
    all.emplace_back(examples[i].target.begin(), examples[i].target.end());
  return all;
}

class DocumentsTest : public testing::Test {
protected:
  Result<Corpus> read(std::string_view text, DocumentKind kind, int64_t maximumLength = 100) {
    HEDDLE_ASSIGN(LineBlocks lines, open(text, kind));
    return readCorpus(TextDocuments(lines, bytes, kind, maximumLength, {'<', '>'}));
  }
  std::vector<std::string> sequences(std::string_view text, DocumentKind kind, int64_t maximumLength = 100) {
    return sequencesOf(read(text, kind, maximumLength)->examples);
  }
  Result<LineBlocks> open(std::string_view text, DocumentKind kind) {
    return LineBlocks::open(folder.write("text", text), folder.path(), TextDocuments::blockBegin(kind));
  }

  TemporaryFolder folder;
  Bytes bytes;
};

using Sequences = std::vector<std::string>;

TEST_F(DocumentsTest, Kinds) {
  const char *text = "\nab\r\ncd\n\n \t\ne\n\nf";
  EXPECT_EQ(sequences(text, DocumentKind::Line), (Sequences{"<ab>", "<cd>", "<e>", "<f>"}));
  EXPECT_EQ(sequences(text, DocumentKind::BetweenBlankLines), (Sequences{"<ab\ncd>", "<e>", "<f>"}));
  EXPECT_EQ(sequences(text, DocumentKind::File), (Sequences{"<\nab\ncd\n\n \t\ne\n\nf\n>"}));
  for (DocumentKind kind : {DocumentKind::Line, DocumentKind::BetweenBlankLines})
    EXPECT_TRUE(sequences("\n \n", kind).empty());
}

TEST_F(DocumentsTest, LongDocumentsAreCut) {
  // Each token but the first is predicted once. The last sequence may have a single token to predict.
  EXPECT_EQ(sequences("abcd\nef\n", DocumentKind::Line, 2), (Sequences{"<ab", "bcd", "d>", "<ef", "f>"}));
  EXPECT_EQ(sequences("abc", DocumentKind::Line, 4), (Sequences{"<abc>"}));
  EXPECT_EQ(sequences("ab", DocumentKind::Line, 1), (Sequences{"<a", "ab", "b>"}));
  auto corpus = read("abcd\nef\n", DocumentKind::Line, 2);
  EXPECT_EQ(corpus->report.describe(2), "2 documents in 5 sequences");
}

TEST_F(DocumentsTest, WhatIsNotUtf8IsLeftOutAndCounted) {
  const char *text = "a\nb\xff\n\nc\n";
  auto describe = [&](DocumentKind kind) { return read(text, kind)->report.describe(100); };
  std::string where = str(" not in UTF-8 (the first is '", (folder.path() / "text").string(), "' line 2)");
  EXPECT_EQ(sequences(text, DocumentKind::Line), (Sequences{"<a>", "<c>"}));
  EXPECT_EQ(describe(DocumentKind::Line), "2 of 3 documents in 2 sequences; skipped 1" + where);
  EXPECT_EQ(sequences(text, DocumentKind::BetweenBlankLines), (Sequences{"<c>"}));
  EXPECT_EQ(describe(DocumentKind::BetweenBlankLines), "1 of 2 documents in 1 sequence; skipped 1" + where);
  EXPECT_EQ(sequences(text, DocumentKind::File), (Sequences{"<a\n\nc\n>"}));
  EXPECT_EQ(describe(DocumentKind::File), "3 of 4 lines in 1 sequence; skipped 1" + where);
}

// For any text: no block cuts a document, and the sequences of a document follow each other.
TEST_F(DocumentsTest, BlocksHoldWholeDocuments) {
  EXPECT_TRUE(rc::check([&] {
    Sequences expected;
    std::string text;
    for (int document = 0, count = *rc::gen::inRange(0, 150); document < count; ++document) {
      std::string lines = "d" + std::to_string(document);
      for (int line = *rc::gen::inRange(0, 6); line > 0; --line)
        lines += "\nx";
      text += lines + "\n\n" + (*rc::gen::arbitrary<bool>() ? "\n" : "");
      expected.push_back("<" + lines + ">");
    }
    auto kind = DocumentKind::BetweenBlankLines;
    LineBlocks lines = std::move(open(text, kind)).value();
    RC_ASSERT(lines.lines() == uint64_t(std::count(text.begin(), text.end(), '\n')));
    int64_t longest = *rc::gen::inRange(1, 20);
    Corpus corpus = std::move(readCorpus(TextDocuments(lines, bytes, kind, longest, {'<', '>'}))).value();
    Sequences whole;
    for (const std::string &sequence : sequencesOf(corpus.examples)) {
      RC_ASSERT(int64_t(sequence.size()) <= longest + 1);
      if (sequence.front() == '<')
        whole.emplace_back("<");
      RC_ASSERT(whole.back().back() == sequence.front());
      whole.back() += sequence.substr(1);
    }
    RC_ASSERT(whole == expected);
  }));
}

TEST_F(DocumentsTest, PartsOfAFile) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += std::to_string(i) + "\n";
  Sequences parts = sequences(text, DocumentKind::File, 10'000);
  ASSERT_EQ(parts.size(), 4u) << "64 lines each, and what is left";
  EXPECT_TRUE(parts[0].starts_with("<0\n1\n") && parts[0].ends_with("\n63\n"));
  EXPECT_TRUE(parts[1].starts_with("64\n") && parts[3].ends_with("\n199\n>"));
  EXPECT_EQ("<" + text + ">", parts[0] + parts[1] + parts[2] + parts[3]);
}

TEST_F(DocumentsTest, Batches) {
  Batch batch;
  batch.add({.target = ids("<ab>")});
  batch.add({.target = ids("b>")});
  EXPECT_EQ(batch.source.layout.sequences(), 0);
  EXPECT_EQ(batch.targetIn, ids("<abb"));
  EXPECT_EQ(batch.targetOut, ids("ab>>"));
  EXPECT_EQ(batch.target.positions, (Ids{0, 1, 2, 0}));
  EXPECT_EQ(batch.target.starts, (Ids{0, 3}));
  EXPECT_EQ(batch.target.lengths, (Ids{3, 1}));
  EXPECT_EQ(batch.tokens(), 4);

  // Batches are filled to the last token.
  Examples examples;
  for (int i = 0; i < 7; ++i)
    examples.add({.target = ids("<ab>")});
  std::vector<int64_t> tokens;
  for (const Batch &packed : packInOrder(examples, {.maximumTokens = 9, .maximumSequences = 8, .maximumLength = 9}))
    tokens.push_back(packed.target.tokens());
  EXPECT_EQ(tokens, (std::vector<int64_t>{9, 9, 3}));
}

TEST_F(DocumentsTest, ASourceServesAllSequencesOfAnEpoch) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += std::string(size_t(1 + i * 7 % 30), 'x') + "\n";
  LineBlocks lines = std::move(open(text, DocumentKind::Line)).value();
  TextDocuments corpus(lines, bytes, DocumentKind::Line, 8, {'<', '>'});
  BatchOptions options{.limits = {64, 20, 8, {'<', '>'}}, .seed = 1, .windowLines = 128};
  BatchSource source(corpus, options);
  size_t predicted = 0, expected = text.size(); // a document's characters and its end mark
  int batches = 0, mixed = 0;
  for (int step = 0; predicted < expected; ++step) {
    DataCursor before = source.cursor();
    Batch batch = std::move(source.next()).value();
    EXPECT_LE(batch.target.tokens(), 64);
    EXPECT_EQ(source.cursor().epoch, 0u);
    if (step == 9) {
      BatchSource resumed(corpus, options, before);
      EXPECT_EQ(resumed.next()->targetIn, batch.targetIn);
    }
    predicted += batch.targetOut.size();
    auto [shortest, longest] = std::ranges::minmax(batch.target.lengths);
    ++batches;
    mixed += shortest < 4 && longest == 8;
  }
  EXPECT_EQ(predicted, expected);
  EXPECT_GT(mixed, batches / 2) << "a batch holds sequences of all lengths";
}

// Line ends are pieces in a vocabulary learnt for documents of several lines, and spaces in one learnt for single
// lines.
TEST_F(DocumentsTest, LineEndsArePieces) {
  auto file = folder.write("text", "ab ba\nab\nba ab\n");
  Tokenizer with = std::move(Tokenizer::train({file}, 20, {.lineEnds = true})).value();
  EXPECT_EQ(with.decode(with.encode("ab\n\nba ab\n")), "ab\n\nba ab\n");
  Tokenizer without = std::move(Tokenizer::train({file}, 20)).value();
  EXPECT_EQ(without.decode(without.encode("ab\nba")), "ab ba");
}

TEST_F(DocumentsTest, AContinuationHasItsSpace) {
  auto file = folder.write("text", "ab ba\nab\nba ab\n");
  Tokenizer tokenizer = std::move(Tokenizer::train({file}, 20)).value();
  EXPECT_EQ(tokenizer.continuation(tokenizer.encode("ab"), tokenizer.encode("ba ab")), " ba ab");
  EXPECT_EQ(tokenizer.continuation(Ids{kBeginId}, tokenizer.encode("ba")), "ba");
}

} // namespace
