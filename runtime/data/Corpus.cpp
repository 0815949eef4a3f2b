#include "runtime/data/Corpus.h"

#include "runtime/core/Span.h"
#include "runtime/data/Images.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

MarkedPair::MarkedPair(std::span<const int32_t> source, std::span<const int32_t> target, std::span<const float> pixels,
                       const Marks &marks)
    : source(marks.markSource(source)), target{marks.begin}, pixels(pixels) {
  this->target.insert(this->target.end(), target.begin(), target.end());
  this->target.push_back(marks.end);
}

void Examples::add(const Example &example) {
  source.set(count, example.source);
  right.set(count, example.right);
  target.set(count, example.target);
  learnt.set(count, example.learnt);
  labels.set(count, example.labels);
  labelled.set(count, example.labelled);
  grade.set(count, example.grade);
  follows.set(count, example.follows);
  edges.set(count, example.edges);
  sentences.set(count, example.sentences);
  pixels.set(count, example.pixels);
  if (example.secondBegin > 0)
    second.set(count, {&example.secondBegin, 1});
  partner.set(count, example.partner);
  other.set(count, example.other);
  otherLearnt.set(count, example.otherLearnt);
  ++count;
}

Example Examples::operator[](size_t index) const {
  return {.source = source[index],
          .right = right[index],
          .target = target[index],
          .learnt = learnt[index],
          .labels = labels[index],
          .labelled = labelled[index],
          .grade = grade[index],
          .follows = follows[index],
          .edges = edges[index],
          .sentences = sentences[index],
          .pixels = pixels[index],
          .secondBegin = second[index].empty() ? 0 : second[index].front(),
          .partner = partner[index],
          .other = other[index],
          .otherLearnt = otherLearnt[index]};
}

void CorpusReport::noteInvalid(uint64_t line, const std::string &file) {
  if (invalidUtf8++ != 0)
    return;
  firstInvalidLine = line;
  firstInvalidFile = file;
}

void CorpusReport::add(const CorpusReport &other) {
  read += other.read;
  blank += other.blank;
  overLong += other.overLong;
  recut += other.recut;
  unit = other.unit;
  sequences += other.sequences;
  if (other.invalidUtf8 != 0 && (invalidUtf8 == 0 || other.firstInvalidLine < firstInvalidLine)) {
    firstInvalidLine = other.firstInvalidLine;
    firstInvalidFile = other.firstInvalidFile;
  }
  invalidUtf8 += other.invalidUtf8;
}

std::string CorpusReport::describe(int64_t maximumLength) const {
  auto count = [](uint64_t number, std::string_view noun) { return str(number, " ", noun, number == 1 ? "" : "s"); };
  std::string text = skipped() == 0 ? count(read, unit) : str(read - skipped(), " of ", count(read, unit));
  if (sequences != 0)
    text += " in " + count(sequences, "sequence");
  if (recut != 0)
    text += str("; ", recut, recut == 1 ? " has" : " have",
                " other tokens than the same text in one piece, as a token would cross the prompt's end");
  if (skipped() == 0)
    return text;
  text += "; skipped";
  const char *separator = " ";
  auto reason = [&](uint64_t count, const std::string &why) {
    if (count == 0)
      return;
    text += str(separator, count, " ", why);
    separator = ", ";
  };
  reason(blank, "with a blank line");
  reason(overLong, str("longer than ", maximumLength, " tokens"));
  reason(invalidUtf8, str("not in UTF-8 (the first is '", firstInvalidFile, "' line ", firstInvalidLine, ")"));
  return text;
}

Status TextPairs::read(size_t block, Draw, Examples &examples, CorpusReport &report) const {
  Span reading("read and tokenise block");
  HEDDLE_ASSIGN(ParallelText lines, text.read(block));
  reading.with("block", int64_t(block)).with("lines", int64_t(lines.source.size()));
  CorpusReport here;
  for (size_t i = 0; i < lines.source.size(); ++i) {
    ++here.read;
    bool sourceIsValid = isValidUtf8(lines.source[i]);
    if (!sourceIsValid || !isValidUtf8(lines.target[i])) {
      here.noteInvalid(text.firstLineOf(block) + i, (sourceIsValid ? text.target() : text.source()).string());
      continue;
    }
    std::vector<int32_t> target = vocabulary.encodeTarget(lines.target[i]), source;
    std::vector<float> pixels;
    if (marks.image.pixels() == 0)
      source = marks.beginSource(vocabulary.encode(lines.source[i]));
    else if (!isBlank(lines.source[i])) {
      HEDDLE_ASSIGN(pixels, readImageLine(lines.source[i], marks.image, lines.folder, text.placeOf(block, i)));
    }
    if ((source.empty() && pixels.empty()) || target.empty())
      ++here.blank;
    else if ((pixels.empty() && marks.sourceRows(source.size()) > maximumLength) ||
             int64_t(target.size()) + 1 > maximumLength)
      ++here.overLong;
    else
      examples.add(MarkedPair(source, target, pixels, marks).example());
  }
  report.add(here);
  return Success();
}

static Status forEachRecordOf(const LineBlocks &file, size_t block, const RecordUse &use) {
  HEDDLE_ASSIGN(std::vector<std::string> lines, file.readSource(block));
  for (size_t i = 0; i < lines.size(); ++i)
    if (!isBlank(lines[i]))
      HEDDLE_CHECK(use(lines[i], file.placeOf(block, i)));
  return Success();
}

Status forEachRecord(const LineBlocks &file, const RecordUse &use) {
  Span span("read records");
  for (size_t block = 0; block < file.blocks(); ++block)
    HEDDLE_CHECK(forEachRecordOf(file, block, use));
  return Success();
}

Status RecordExamples::read(size_t block, Draw, Examples &examples, CorpusReport &report) const {
  Span reading("read and tokenise block");
  reading.with("block", int64_t(block)).with("lines", int64_t(text.linesOf(block)));
  CorpusReport here{.unit = "record"};
  HEDDLE_CHECK(forEachRecordOf(text, block, [&](std::string_view line, const std::string &origin) {
    ++here.read;
    return addRecord(line, origin, examples, here);
  }));
  report.add(here);
  return Success();
}

Result<Corpus> readCorpus(const ExampleBlocks &blocks) {
  Corpus corpus;
  for (size_t block = 0; block < blocks.blocks(); ++block)
    HEDDLE_CHECK(blocks.read(block, {}, corpus.examples, corpus.report));
  return corpus;
}

} // namespace heddle
