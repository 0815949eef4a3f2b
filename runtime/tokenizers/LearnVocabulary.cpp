#include "runtime/core/Span.h"
#include "runtime/text/Lines.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/Tokenizer.h"

#include <sentencepiece_trainer.h>

namespace heddle {
namespace {

// A sample is enough to learn merges. Learning from a whole large corpus takes hours and much memory.
constexpr uint64_t kSampleLines = 2'000'000;

constexpr const char *kTypeNames[] = {"bpe", "unigram", "word"}; // indexed by VocabularyType

// Longer lines are not sentences. SentencePiece would drop them too, since its default limit is smaller.
constexpr size_t kLongestLine = 1 << 16;

Result<uint64_t> countLines(const std::vector<std::filesystem::path> &files) {
  uint64_t count = 0;
  std::string line;
  for (const std::filesystem::path &file : files) {
    HEDDLE_ASSIGN(LineReader reader, LineReader::open(file));
    while (reader.next(line))
      ++count;
    HEDDLE_CHECK(reader.status());
  }
  return count;
}

// Every `stride`-th line of all files, so that a sample depends only on the files.
class SampledLines final : public sentencepiece::SentenceIterator {
public:
  SampledLines(const std::vector<std::filesystem::path> &files, uint64_t stride, const VocabularyTraining &how)
      : files(files), stride(stride), how(how) {
    Next();
  }

  bool done() const override { return finished; }
  const std::string &value() const override { return line; }
  sentencepiece::util::Status status() const override {
    if (problem.ok())
      return {};
    return sentencepiece::util::Status(sentencepiece::util::StatusCode::kInternal, problem.message());
  }

  void Next() override {
    do {
      if (!advance()) {
        finished = true;
        return;
      }
    } while (!isSampled());
  }

private:
  bool isSampled() {
    if (seen++ % stride != 0 || line.size() > kLongestLine || !isValidUtf8(line))
      return false;
    if (how.textOfLine)
      line = how.textOfLine(line);
    return !isBlank(line);
  }

  bool advance() {
    while (true) {
      if (!reader.empty()) {
        if (reader.front().next(line))
          return true;
        if (problem = reader.front().status(); !problem.ok())
          return false;
        reader.clear();
      }
      if (file == files.size())
        return false;
      Result<LineReader> opened = LineReader::open(files[file++]);
      if (!opened.ok()) {
        problem = opened.error();
        return false;
      }
      reader.push_back(std::move(*opened));
    }
  }

  const std::vector<std::filesystem::path> &files;
  uint64_t stride;
  const VocabularyTraining &how;
  size_t file = 0;
  uint64_t seen = 0;
  std::vector<LineReader> reader; // at most one
  std::string line;
  bool finished = false;
  Status problem = Success();
};

// SentencePiece's most frequent message: "<place in its source> Vocabulary size is smaller than required_chars. 8 vs 15.
// Increase vocab_size ...".
Error cannotLearn(int32_t pieces, std::string_view message) {
  constexpr std::string_view tooFew = "smaller than required_chars. ";
  std::string needed;
  if (size_t place = message.find(tooFew); place != message.npos) {
    std::string_view numbers = message.substr(place + tooFew.size());
    if (size_t second = numbers.find(" vs "); second != numbers.npos)
      needed = numbers.substr(second + 4, numbers.substr(second + 4).find_first_not_of("0123456789"));
  }
  if (needed.empty())
    return makeError(ErrorKind::InvalidArgument, "SentencePiece cannot learn ", pieces,
                     " pieces from the text: ", message);
  return makeError(ErrorKind::InvalidArgument, "a vocabulary of ", pieces, " pieces is too small: the text needs ",
                   needed,
                   ", one for each of its characters and the special pieces. Compile with --set vocab_size=", needed,
                   " or more, or remove rare characters from the text.");
}

} // namespace

Result<Tokenizer> Tokenizer::train(const std::vector<std::filesystem::path> &files, int32_t pieces,
                                   const VocabularyTraining &how) {
  Span span("learn vocabulary");
  HEDDLE_ASSIGN(uint64_t lines, countLines(files));
  SampledLines sample(files, (lines + kSampleLines - 1) / kSampleLines, how);
  if (sample.done()) {
    HEDDLE_CHECK(sample.status().ok() ? Status(Success())
                                      : Status(makeError(ErrorKind::Io, sample.status().message())));
    return makeError(ErrorKind::InvalidArgument, "the text holds no line to learn a vocabulary from.");
  }
  std::string model, own = how.lineEnds ? "\n" : "";
  if (how.mask)
    own += str(own.empty() ? "" : ",", kMaskPiece);
  sentencepiece::util::Status status = sentencepiece::SentencePieceTrainer::Train(
      {
          {"model_type", kTypeNames[size_t(how.type)]},
          {"num_threads", "1"}, // so that the same text gives the same pieces
          {"vocab_size", std::to_string(pieces)},
          {"character_coverage", "1.0"},
          {"unk_id", std::to_string(kUnknownId)},
          {"bos_id", std::to_string(kBeginId)},
          {"eos_id", std::to_string(kEndId)},
          {"pad_id", "-1"},
          {"user_defined_symbols", own},
          {"hard_vocab_limit", "false"},
          {"max_sentence_length", std::to_string(kLongestLine)},
          {"minloglevel", "2"},
      },
      &sample, &model);
  if (!status.ok())
    return cannotLearn(pieces, status.message());
  return fromBytes(model, "learnt vocabulary");
}

} // namespace heddle
