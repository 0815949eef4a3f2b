#include "runtime/text/Escapes.h"
#include "runtime/text/Utf8.h"
#include "runtime/train/Checkpoint.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include <charconv>

namespace heddle::run {
namespace {

constexpr uint64_t kLinesAhead = 1024;

std::string describeTokens(const TextCodec &codec, std::string_view line) {
  std::string ids, pieces;
  for (int32_t id : codec.encode(line)) {
    ids += str(ids.empty() ? "" : " ", id);
    pieces += (pieces.empty() ? "" : " ") + escaped(codec.piece(id));
  }
  return ids + '\t' + pieces;
}

// Decodes the ids before the line's first tab.
Result<std::string> decode(const TextCodec &codec, std::string_view line, uint64_t number) {
  std::vector<int32_t> ids;
  for (std::string_view rest = line.substr(0, line.find('\t')); !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    int32_t id = -1;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (word.empty())
      continue;
    if (error != std::errc() || end != word.data() + word.size() || id < 0 || id >= codec.pieces())
      return makeError(ErrorKind::InvalidArgument, "line ", number, " of the standard input has '", word,
                       "', which is not a token of this vocabulary: its tokens are the numbers from 0 to ",
                       codec.pieces() - 1, ", separated by spaces.");
    ids.push_back(id);
  }
  return escaped(replaceInvalidUtf8(codec.decode(ids)));
}

} // namespace

Status runTokenize(const TokenizeCommand &command) {
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> codec, openVocabulary(command.folder));
  ImmediateAnswers worker;
  uint64_t number = 0;
  auto add = [&](const std::string &line) -> Status {
    ++number;
    if (command.decode) {
      HEDDLE_ASSIGN(worker.answers.emplace_back(), decode(*codec, line, number));
    } else {
      worker.answers.push_back(describeTokens(*codec, unescaped(line)));
    }
    return Success();
  };
  return answerLines(worker, kLinesAhead, add, printLine, InputLines::LongLines::Whole);
}

} // namespace heddle::run
