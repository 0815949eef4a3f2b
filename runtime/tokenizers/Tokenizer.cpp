#include "runtime/tokenizers/Tokenizer.h"

#include "runtime/core/Span.h"
#include "runtime/text/Lines.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/PieceTable.h"
#include "runtime/tokenizers/SentencePieceFile.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace heddle {
namespace {

// A sample is enough to learn merges. Learning from a whole large corpus takes hours and much memory.
constexpr uint64_t kSampleLines = 2'000'000;

constexpr const char *kTypeNames[] = {"bpe", "unigram", "word"}; // indexed by VocabularyType

constexpr size_t kLongPart = 1 << 12; // libsentencepiece encodes this many bytes quickly, whatever they are

constexpr std::string_view kSpace = "\xe2\x96\x81"; // the mark of a space in a piece

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

} // namespace

struct Tokenizer::Vocabulary {
  PieceTable pieces;
  int32_t unknown = 0, end = 0, padding = 0;

  int32_t idOf(std::string_view piece) const { return pieces.find(piece).value_or(unknown); }
  bool isMark(int32_t id) const { return id == unknown || id == end || id == padding; }

  static Result<std::unique_ptr<Vocabulary>> parse(std::string_view text, const std::string &name);
};

Result<std::unique_ptr<Tokenizer::Vocabulary>> Tokenizer::Vocabulary::parse(std::string_view text,
                                                                            const std::string &name) {
  auto vocabulary = std::make_unique<Vocabulary>();
  HEDDLE_ASSIGN(vocabulary->pieces, PieceTable::fromJson(text, name));
  const std::pair<const char *, int32_t *> marks[] = {
      {"<unk>", &vocabulary->unknown}, {"</s>", &vocabulary->end}, {"<pad>", &vocabulary->padding}};
  for (auto [piece, id] : marks) {
    std::optional<int32_t> found = vocabulary->pieces.find(piece);
    if (!found)
      return makeError(ErrorKind::Malformed, "'", name, "' is not a vocabulary of Marian: it lacks \"", piece,
                       "\"; take the vocabulary that was published with the model.");
    *id = *found;
  }
  return vocabulary;
}

struct Tokenizer::Continuing {
  explicit Continuing(const Processor &plain) : plain(plain) {}

  const Processor &plain;
  // Few texts are long or continued, so the model is parsed a second time only when needed.
  mutable std::once_flag once;
  mutable std::unique_ptr<Processor> processor; // null if the model cannot be parsed
  mutable bool keepsSpaces = false;             // at the beginning of a text
  mutable bool dividesWords = false; // words are pieces, divided by spaces; white space around them is dropped
  mutable bool usesBytes = false;    // no character is unknown

  void load() const {
    std::call_once(once, [this] { parse(); });
  }

private:
  void parse() const {
    // Protobuf merges a message that a file contains twice. Field 3 is the normalizer's options; its own field 3,
    // add_dummy_prefix, becomes false.
    constexpr std::string_view kNoPrefix("\x1a\x02\x18\x00", 4);
    std::string model = plain.serialized_model_proto();
    if (Result<SentencePieceFile> file = SentencePieceFile::parse(model, ""); file.ok()) {
      keepsSpaces = !file->dropsSpaces;
      dividesWords = file->model == SentencePieceFile::Word && file->spaceFirst && file->dropsSpaces;
      usesBytes = file->usesBytes;
    }
    processor = std::make_unique<Processor>();
    if (!processor->LoadFromSerializedProto(model.append(kNoPrefix)).ok())
      processor.reset();
  }
};

Tokenizer::Tokenizer(std::unique_ptr<Processor> source, std::unique_ptr<Processor> target,
                     std::unique_ptr<Vocabulary> vocabulary, std::vector<TokenizerFile> stored)
    : source(std::move(source)), target(std::move(target)), vocabulary(std::move(vocabulary)),
      stored(std::move(stored)), continuing(std::make_unique<Continuing>(*this->source)),
      targetContinuing(this->target ? std::make_unique<Continuing>(*this->target) : nullptr) {}
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer::Processor>> Tokenizer::parse(std::string_view model, const std::string &name) {
  HEDDLE_CHECK(checkSentencePieceMaps(model, name));
  auto processor = std::make_unique<Processor>();
  if (sentencepiece::util::Status status = processor->LoadFromSerializedProto(model); !status.ok())
    return makeError(ErrorKind::Malformed, "'", name, "' is not a SentencePiece model: ", status.message(), ".");
  return processor;
}

Result<Tokenizer> Tokenizer::fromBytes(std::string_view model, const std::string &name) {
  HEDDLE_ASSIGN(std::unique_ptr<Processor> processor, parse(model, name));
  if (processor->unk_id() != kUnknownId || processor->bos_id() != kBeginId || processor->eos_id() != kEndId)
    return makeError(ErrorKind::Unsupported, "the SentencePiece model '", name, "' numbers its special pieces unk ",
                     processor->unk_id(), ", bos ", processor->bos_id(), ", eos ", processor->eos_id(),
                     "; Heddle needs unk 0, bos 1, eos 2 (SentencePiece's own default).");
  return Tokenizer(std::move(processor), nullptr, nullptr, {{std::string(kFileNames[0]), std::string(model)}});
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(std::string bytes, readVocabularyFile(path));
  return fromBytes(bytes, path.string());
}

Result<Tokenizer> Tokenizer::loadFolder(const std::filesystem::path &folder) {
  HEDDLE_ASSIGN(std::vector<TokenizerFile> files, readTokenizerFiles(folder, kFileNames));
  return fromFiles(files, folder.string());
}

Result<Tokenizer> Tokenizer::fromFiles(const std::vector<TokenizerFile> &files, const std::string &origin) {
  auto find = [&](std::string_view name) {
    auto found = std::ranges::find(files, name, &TokenizerFile::name);
    return found == files.end() ? nullptr : &*found;
  };
  auto called = [&](const TokenizerFile &file) { return (std::filesystem::path(origin) / file.name).string(); };
  const TokenizerFile *one = find("spm.model"), *ofSource = find("source.spm"), *ofTarget = find("target.spm"),
                      *numbers = find("vocab.json");
  if (ofSource && ofTarget && numbers) {
    HEDDLE_ASSIGN(std::unique_ptr<Processor> source, parse(ofSource->bytes, called(*ofSource)));
    HEDDLE_ASSIGN(std::unique_ptr<Processor> target, parse(ofTarget->bytes, called(*ofTarget)));
    HEDDLE_ASSIGN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::parse(numbers->bytes, called(*numbers)));
    return Tokenizer(std::move(source), std::move(target), std::move(vocabulary), {*ofSource, *ofTarget, *numbers});
  }
  if (one)
    return fromBytes(one->bytes, called(*one));
  return makeError(ErrorKind::NotFound, "'", origin,
                   "' has no vocabulary that heddle-run reads: neither spm.model, as ",
                   "its own trainings have it, nor source.spm, target.spm and vocab.json, as Marian's models have "
                   "them. `heddle-run call` takes token ids.");
}

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
    return makeError(ErrorKind::InvalidArgument, "SentencePiece cannot learn ", pieces,
                     " pieces from the text: ", status.message(),
                     ". A vocabulary needs a piece for every character of the corpus and three special pieces: "
                     "compile with a larger vocab_size or clean the text.");
  return fromBytes(model, "learnt vocabulary");
}

// libsentencepiece fuses consecutive unknown characters into one piece, in time quadratic in their number. A long line
// is therefore cut within runs of unknown characters, or between words if pieces are whole words. Unknown tokens on
// both sides of a cut are fused again.
std::vector<int32_t> Tokenizer::number(const Processor &processor, std::string_view line) const {
  std::vector<int32_t> ids;
  int32_t unknown = vocabulary ? vocabulary->unknown : processor.unk_id();
  for (const Cut &cut : cutLong(processor, line)) {
    std::vector<int32_t> part = numberPart(*cut.processor, cut.text);
    bool joins = !ids.empty() && !part.empty() && ids.back() == unknown && part.front() == unknown;
    ids.insert(ids.end(), part.begin() + joins, part.end());
  }
  return ids;
}

std::vector<int32_t> Tokenizer::numberPart(const Processor &processor, std::string_view text) const {
  // Encode() fails only if no model is loaded.
  if (!vocabulary) {
    std::vector<int> ids;
    (void)processor.Encode(text, &ids);
    return {ids.begin(), ids.end()};
  }
  std::vector<std::string> pieces;
  (void)processor.Encode(text, &pieces);
  std::vector<int32_t> ids;
  for (const std::string &piece : pieces)
    ids.push_back(vocabulary->idOf(piece));
  return ids;
}

std::vector<Tokenizer::Cut> Tokenizer::cutLong(const Processor &processor, std::string_view line) const {
  if (line.size() <= kLongPart)
    return {{&processor, line}};
  const Continuing &behind = *(&processor == target.get() ? targetContinuing : continuing);
  behind.load();
  std::vector<Cut> cuts;
  size_t begin = 0;
  auto cutAt = [&](size_t place, const Processor &next, size_t skipped) {
    cuts.back().text = line.substr(begin, place - begin);
    begin = place + skipped;
    cuts.push_back({&next, line.substr(begin)});
  };
  cuts.push_back({&processor, line});
  if (behind.dividesWords) {
    for (size_t space; (space = line.find(' ', begin + kLongPart)) != std::string_view::npos;)
      cutAt(space, processor, 1);
    return cuts;
  }
  if (!behind.processor || behind.usesBytes)
    return cuts;
  std::unordered_map<std::string_view, bool> known; // whether each cluster of characters is known
  auto isUnknown = [&](std::string_view cluster) {
    auto [place, isNew] = known.try_emplace(cluster, false);
    if (isNew) {
      std::vector<int> ids;
      (void)behind.processor->Encode(cluster, &ids);
      place->second = !(ids.size() == 1 && behind.processor->IsUnknown(ids[0]));
    }
    return !place->second;
  };
  constexpr size_t kLongestCluster = 64; // bytes
  size_t run = 0;                        // length in bytes of the current run of unknown clusters
  for (size_t place = 0; place < line.size();) {
    if (run > kLongPart) {
      cutAt(place, *behind.processor, 0);
      run = 0;
    }
    size_t length = firstClusterBytes(line.substr(place, 4 * kLongestCluster));
    if (length > kLongestCluster)
      length = firstCharacter(line.substr(place)).bytes;
    run = isUnknown(line.substr(place, length)) ? run + length : 0;
    place += length;
  }
  return cuts;
}

// Models for many target languages expect a piece before the sentence that names the language: >>deu<<.
std::string_view Tokenizer::takeLanguage(std::string_view &line) const {
  size_t end = line.find("<<");
  if (!vocabulary || !line.starts_with(">>") || end == std::string_view::npos)
    return {};
  std::string_view language = line.substr(0, end + 2);
  line.remove_prefix(end + 2);
  return language;
}

std::vector<int32_t> Tokenizer::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  if (std::string_view language = takeLanguage(line); !language.empty())
    ids.push_back(vocabulary->idOf(language));
  std::vector<int32_t> words = number(*source, line);
  ids.insert(ids.end(), words.begin(), words.end());
  return ids;
}

std::vector<int32_t> Tokenizer::encodeTarget(std::string_view line) const {
  return number(target ? *target : *source, line);
}

// If the model strips spaces at a text's beginning, a text that begins with a space needs the prepended space instead.
std::vector<int32_t> Tokenizer::encodeContinuation(std::string_view text) const {
  continuing->load();
  bool begins = !text.empty() && whiteSpaceBytes(text) != 0 && !continuing->keepsSpaces;
  return number(begins || !continuing->processor ? *source : *continuing->processor, text);
}

std::vector<std::string> Tokenizer::unknownParts(std::string_view line) const {
  std::vector<std::string> parsed, unknown;
  std::unordered_set<std::string> seen;
  std::string_view language = takeLanguage(line);
  for (const Cut &cut : cutLong(*source, line)) {
    std::vector<std::string> part;
    (void)cut.processor->Encode(cut.text, &part);
    parsed.insert(parsed.end(), part.begin(), part.end());
  }
  if (!language.empty())
    parsed.insert(parsed.begin(), std::string(language));
  for (std::string_view piece : parsed) {
    bool known = vocabulary ? vocabulary->pieces.find(piece).has_value() : !source->IsUnknown(source->PieceToId(piece));
    if (piece.starts_with(kSpace))
      piece.remove_prefix(kSpace.size());
    if (!known && !piece.empty() && seen.emplace(piece).second)
      unknown.emplace_back(piece);
  }
  return unknown;
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string line;
  if (vocabulary) {
    std::vector<std::string> known;
    for (int32_t id : ids)
      if (id >= 0 && id < pieces() && !vocabulary->isMark(id))
        known.push_back(vocabulary->pieces[id]);
    (void)target->Decode(known, &line);
    // Pieces that the target's model does not know keep their space mark.
    for (size_t place; (place = line.find(kSpace)) != std::string::npos;)
      line.replace(place, kSpace.size(), 1, ' ');
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
  } else {
    std::vector<int> known;
    for (int32_t id : ids)
      if (id >= 0 && id < pieces() && id != kBeginId && id != kEndId)
        known.push_back(id);
    (void)source->Decode(known, &line);
  }
  return line;
}

// The first word of a text is decoded without a space before it, later words with one. A few preceding tokens are
// enough to tell which case applies.
std::string Tokenizer::continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const {
  before = before.last(std::min<size_t>(before.size(), 16));
  std::vector<int32_t> all(before.begin(), before.end());
  all.insert(all.end(), ids.begin(), ids.end());
  std::string head = decode(before), whole = decode(all);
  return whole.starts_with(head) ? whole.substr(head.size()) : decode(ids);
}

std::string Tokenizer::piece(int32_t id) const {
  if (vocabulary)
    return vocabulary->pieces.shown(id);
  return id < 0 || id >= pieces() ? str("#", id) : source->IdToPiece(id);
}

int32_t Tokenizer::pieces() const { return vocabulary ? vocabulary->pieces.size() : source->GetPieceSize(); }

std::optional<int32_t> Tokenizer::maskId() const {
  if (vocabulary)
    return std::nullopt;
  int id = source->PieceToId(kMaskPiece);
  return source->IsUnknown(id) ? std::nullopt : std::optional<int32_t>(id);
}

std::optional<int32_t> Tokenizer::endId() const { return vocabulary ? vocabulary->end : kEndId; }

} // namespace heddle
