#include "tools/heddle-run/text/Corpus.h"

#include "tools/heddle-run/text/Lines.h"
#include "tools/heddle-run/text/Utf8.h"

namespace heddle::run {

void SentencePairs::add(std::span<const int32_t> source, std::span<const int32_t> target) {
  sourceIds.insert(sourceIds.end(), source.begin(), source.end());
  targetIds.insert(targetIds.end(), target.begin(), target.end());
  sourceEnds.push_back(sourceIds.size());
  targetEnds.push_back(targetIds.size());
}

uint64_t SentencePairs::fingerprint() const {
  uint64_t hash = 0xcbf29ce484222325;
  auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (size_t pair = 0; pair < size(); ++pair) {
    mix(source(pair).size());
    for (int32_t id : source(pair))
      mix(uint64_t(id));
    mix(target(pair).size());
    for (int32_t id : target(pair))
      mix(uint64_t(id));
  }
  return hash;
}

std::string CorpusReport::describe(int64_t maximumLength) const {
  if (skipped() == 0)
    return str(read, " pairs");
  std::string text = str(read - skipped(), " of ", read, " pairs; skipped");
  const char *separator = " ";
  auto reason = [&](uint64_t count, const std::string &why) {
    if (count == 0)
      return;
    text += str(separator, count, " ", why);
    separator = ", ";
  };
  reason(blank, "with a blank line");
  reason(overLong, str("longer than ", maximumLength, " tokens"));
  reason(invalidUtf8, str("that are not UTF-8 (the first is '", firstInvalidFile, "' line ", firstInvalidLine, ")"));
  return text;
}

Result<Corpus> readCorpus(const std::filesystem::path &source, const std::filesystem::path &target,
                          const Tokenizer &tokenizer, int64_t maximumLength) {
  HEDDLE_ASSIGN(LineReader sources, LineReader::open(source));
  HEDDLE_ASSIGN(LineReader targets, LineReader::open(target));
  Corpus corpus;
  CorpusReport &report = corpus.report;
  auto noteInvalid = [&](const std::filesystem::path &path, uint64_t line) {
    if (report.invalidUtf8++ == 0) {
      report.firstInvalidFile = path.string();
      report.firstInvalidLine = line;
    }
  };
  std::string sourceLine, targetLine;
  while (true) {
    bool haveSource = sources.next(sourceLine), haveTarget = targets.next(targetLine);
    if (haveSource != haveTarget) {
      while (sources.next(sourceLine) || targets.next(targetLine))
        ;
      HEDDLE_CHECK(sources.status());
      HEDDLE_CHECK(targets.status());
      return makeError(ErrorKind::InvalidArgument, "'", source.string(), "' has ", sources.lineNumber(), " lines and '",
                       target.string(), "' has ", targets.lineNumber(),
                       "; line n of one must translate line n of the other.");
    }
    if (!haveSource)
      break;
    ++report.read;
    if (!isValidUtf8(sourceLine)) {
      noteInvalid(source, sources.lineNumber());
      continue;
    }
    if (!isValidUtf8(targetLine)) {
      noteInvalid(target, targets.lineNumber());
      continue;
    }
    std::vector<int32_t> sourceIds = tokenizer.encode(sourceLine), targetIds = tokenizer.encodeTarget(targetLine);
    if (sourceIds.empty() || targetIds.empty()) {
      ++report.blank;
      continue;
    }
    if (int64_t(sourceIds.size()) + 1 > maximumLength || int64_t(targetIds.size()) + 1 > maximumLength) {
      ++report.overLong;
      continue;
    }
    corpus.pairs.add(sourceIds, targetIds);
  }
  HEDDLE_CHECK(sources.status());
  HEDDLE_CHECK(targets.status());
  return corpus;
}

} // namespace heddle::run
