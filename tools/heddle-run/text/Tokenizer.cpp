#include "tools/heddle-run/text/Tokenizer.h"

#include "runtime/core/File.h"
#include "tools/heddle-run/text/Lines.h"
#include "tools/heddle-run/text/Utf8.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

namespace heddle::run {
namespace {

constexpr uint64_t kModelLimit = 256ull << 20;

// Merges are learnt well from a sample, and learning them from all of a large corpus takes hours and much memory.
constexpr uint64_t kSampleLines = 2'000'000;

// Longer lines are not sentences; SentencePiece would drop them too, by its own smaller limit.
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

// Every `stride`-th line of all files, so that a sample depends on nothing but the files.
class SampledLines final : public sentencepiece::SentenceIterator {
public:
  SampledLines(const std::vector<std::filesystem::path> &files, uint64_t stride) : files(files), stride(stride) {
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
    } while (seen++ % stride != 0 || isBlank(line) || line.size() > kLongestLine || !isValidUtf8(line));
  }

private:
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
  size_t file = 0;
  uint64_t seen = 0;
  std::vector<LineReader> reader; // at most one
  std::string line;
  bool finished = false;
  Status problem = Success();
};

} // namespace

Tokenizer::Tokenizer(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor, std::string model)
    : processor(std::move(processor)), model(std::move(model)) {}
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::fromBytes(std::string_view model, const std::string &name) {
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  if (sentencepiece::util::Status status = processor->LoadFromSerializedProto(model); !status.ok())
    return makeError(ErrorKind::Malformed, "'", name, "' is no SentencePiece model: ", status.message(), ".");
  if (processor->unk_id() != kUnknownId || processor->bos_id() != kBeginId || processor->eos_id() != kEndId)
    return makeError(ErrorKind::Unsupported, "the SentencePiece model '", name, "' numbers its special pieces unk ",
                     processor->unk_id(), ", bos ", processor->bos_id(), ", eos ", processor->eos_id(),
                     "; Heddle needs unk 0, bos 1, eos 2 (SentencePiece's own default).");
  return Tokenizer(std::move(processor), std::string(model));
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kModelLimit));
  return fromBytes({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path.string());
}

Result<Tokenizer> Tokenizer::train(const std::vector<std::filesystem::path> &files, int32_t pieces,
                                   VocabularyType type) {
  HEDDLE_ASSIGN(uint64_t lines, countLines(files));
  SampledLines sample(files, (lines + kSampleLines - 1) / kSampleLines);
  if (sample.done()) {
    HEDDLE_CHECK(sample.status().ok() ? Status(Success())
                                      : Status(makeError(ErrorKind::Io, sample.status().message())));
    return makeError(ErrorKind::InvalidArgument, "'", files.front().string(),
                     "' and the files beside it hold no line to learn a vocabulary from.");
  }
  std::string model;
  sentencepiece::util::Status status = sentencepiece::SentencePieceTrainer::Train(
      {
          {"model_type", type == VocabularyType::Bpe ? "bpe" : "unigram"},
          {"num_threads", "1"}, // so that the same text gives the same pieces
          {"vocab_size", std::to_string(pieces)},
          {"character_coverage", "1.0"},
          {"unk_id", std::to_string(kUnknownId)},
          {"bos_id", std::to_string(kBeginId)},
          {"eos_id", std::to_string(kEndId)},
          {"pad_id", "-1"},
          {"hard_vocab_limit", "false"},
          {"max_sentence_length", std::to_string(kLongestLine)},
          {"minloglevel", "2"},
      },
      &sample, &model);
  if (!status.ok())
    return makeError(ErrorKind::InvalidArgument, "SentencePiece cannot learn ", pieces, " pieces from '",
                     files.front().string(), "' and the files beside it: ", status.message(),
                     ". A vocabulary needs a piece for every character of the corpus and three special ones: "
                     "compile with a larger vocab_size or clean the text.");
  return fromBytes(model, "learnt vocabulary");
}

std::vector<int32_t> Tokenizer::encode(std::string_view line) const {
  std::vector<int> ids;
  // Without an error to give: it fails only where no model is loaded.
  (void)processor->Encode(line, &ids);
  return {ids.begin(), ids.end()};
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::vector<int> known;
  for (int32_t id : ids)
    if (id >= 0 && id < pieces() && id != kBeginId && id != kEndId)
      known.push_back(id);
  std::string line;
  (void)processor->Decode(known, &line);
  // A piece may hold anything but a line's end; a model from elsewhere could hold that too.
  for (char &c : line)
    if (c == '\n' || c == '\r')
      c = ' ';
  return line;
}

int32_t Tokenizer::pieces() const { return processor->GetPieceSize(); }

} // namespace heddle::run
