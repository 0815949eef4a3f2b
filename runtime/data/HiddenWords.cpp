#include "runtime/data/HiddenWords.h"

#include "runtime/core/Span.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/EncoderInput.h"

#include <algorithm>

namespace heddle {
namespace {

// Added to the block number to seed OrderRandom in place of a window number. No window has such a number.
constexpr uint64_t kHiding = uint64_t(1) << 32;

} // namespace

HiddenTokens hideTokens(std::span<const int32_t> tokens, const TextCodec &vocabulary, Marks marks,
                        OrderRandom &random) {
  int32_t mask = *vocabulary.maskId();
  auto isMark = [&](int32_t token) { return token == marks.begin || token == marks.end || token == mask; };
  HiddenTokens result{{tokens.begin(), tokens.end()}, std::vector<int32_t>(tokens.size(), -1)};
  std::vector<size_t> places;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (!isMark(tokens[i]))
      places.push_back(i);
  random.shuffle(places);
  places.resize(std::min(places.size(), std::max<size_t>(1, (places.size() * 15 + 50) / 100)));
  for (size_t place : places) {
    result.labels[place] = tokens[place];
    uint64_t chance = random.below(10);
    if (chance == 0) {
      int32_t other;
      do
        other = int32_t(random.below(uint64_t(vocabulary.pieces())));
      while (isMark(other));
      result.tokens[place] = other;
    } else if (chance > 1) {
      result.tokens[place] = mask;
    }
  }
  return result;
}

std::vector<HiddenText::Document> HiddenText::readDocuments(size_t block, std::span<const std::string> lines,
                                                            CorpusReport &report) const {
  std::vector<Document> documents;
  Document document;
  uint64_t invalidLine = 0; // first invalid line of the document; 0: all lines are valid
  auto finish = [&] {
    if (document.empty() && invalidLine == 0)
      return;
    ++report.read;
    if (invalidLine != 0)
      report.noteInvalid(invalidLine, text.source().string());
    else
      documents.push_back(std::move(document));
    document.clear();
    invalidLine = 0;
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    if (isBlank(lines[i])) {
      if (kind != DocumentKind::File)
        finish();
    } else if (!isValidUtf8(lines[i])) {
      invalidLine = invalidLine == 0 ? text.firstLineOf(block) + i : invalidLine;
    } else if (std::vector<int32_t> tokens = vocabulary.encodeUnmarked(lines[i]); !tokens.empty()) {
      document.push_back(std::move(tokens));
    }
    if (kind == DocumentKind::Line)
      finish();
  }
  finish();
  return documents;
}

void HiddenWords::addPair(std::vector<int32_t> first, std::vector<int32_t> second, int32_t follows, OrderRandom &random,
                          Examples &examples) const {
  while (int64_t(first.size() + second.size()) + 3 > maximumLength)
    (first.size() > second.size() ? first : second).pop_back();
  std::vector<int32_t> tokens{marks.begin};
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.push_back(marks.end);
  tokens.insert(tokens.end(), second.begin(), second.end());
  tokens.push_back(marks.end);
  addHidden(tokens, {.follows = {&follows, 1}, .secondBegin = int32_t(first.size()) + 2}, random, examples);
}

bool HiddenText::addHidden(std::span<const int32_t> tokens, Example example, OrderRandom &random,
                           Examples &examples) const {
  HiddenTokens hidden = hideTokens(tokens, vocabulary, marks, random);
  std::vector<int32_t> labels, labelled;
  for (size_t i = 0; i < hidden.labels.size(); ++i)
    if (hidden.labels[i] >= 0) {
      labels.push_back(hidden.labels[i]);
      labelled.push_back(int32_t(i));
    }
  if (labels.empty())
    return false;
  example.source = hidden.tokens;
  example.labels = labels;
  example.labelled = labelled;
  examples.add(example);
  return true;
}

Status HiddenText::read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const {
  Span reading("read and tokenise block");
  HEDDLE_ASSIGN(std::vector<std::string> lines, text.readSource(block));
  reading.with("block", int64_t(block)).with("lines", int64_t(lines.size()));
  CorpusReport here{.unit = "document"};
  std::vector<Document> documents = readDocuments(block, lines, here);
  OrderRandom random(draw.seed, draw.epoch, kHiding + block);
  here.sequences = addDocuments(documents, random, examples);
  report.add(here);
  return Success();
}

uint64_t HiddenWords::addDocuments(std::span<const Document> documents, OrderRandom &random, Examples &examples) const {
  uint64_t pairs = 0;
  for (size_t d = 0; d < documents.size(); ++d) {
    const Document &own = documents[d];
    for (size_t i = 0; i + 1 < own.size(); ++i) {
      bool follows = random.below(2) == 0;
      const std::vector<int32_t> *second = &own[i + 1];
      if (!follows && documents.size() > 1) { // a random sentence of another document
        const Document &other = documents[(d + 1 + random.below(documents.size() - 1)) % documents.size()];
        second = &other[random.below(other.size())];
      } else if (!follows) { // a random sentence of this document, except the next one
        second = &own[(i + 2 + random.below(own.size() - 1)) % own.size()];
      }
      addPair(own[i], *second, follows, random, examples);
      ++pairs;
    }
  }
  return pairs;
}

uint64_t MaskedDocuments::addDocuments(std::span<const Document> documents, OrderRandom &random,
                                       Examples &examples) const {
  InputMarks around = inputMarksOf(vocabulary, marks.begin, marks.end);
  size_t room = size_t(maximumLength) - around.before.size() - around.after.size();
  uint64_t sequences = 0;
  for (const Document &document : documents) {
    std::vector<int32_t> whole;
    for (const std::vector<int32_t> &line : document)
      whole.insert(whole.end(), line.begin(), line.end());
    for (size_t begin = 0; begin < whole.size(); begin += room) {
      std::vector<int32_t> tokens = around.before;
      tokens.insert(tokens.end(), whole.begin() + ptrdiff_t(begin),
                    whole.begin() + ptrdiff_t(std::min(begin + room, whole.size())));
      tokens.insert(tokens.end(), around.after.begin(), around.after.end());
      sequences += addHidden(tokens, {}, random, examples);
    }
  }
  return sequences;
}

} // namespace heddle
