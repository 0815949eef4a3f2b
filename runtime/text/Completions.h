// Prompts with what is to follow them, for a decoder alone: a record of JSON on each line, {"prompt": "...",
// "completion": "..."}. The loss is of the completion and the end mark; of {"text": "..."} it is of all tokens.
#pragma once

#include "runtime/text/Batches.h"
#include "runtime/text/Corpus.h"

#include <string>
#include <string_view>

namespace heddle {

struct Completion {
  std::string prompt, completion;

  // Fails where the line is no such record; `origin` is the line's place, as in "'train.jsonl' line 3".
  static Result<Completion> parse(std::string_view line, const std::string &origin);
};

// The tokens of a record, without marks. The first `given` ones are the prompt's own tokens: those that a model is
// given to continue.
struct EncodedCompletion {
  std::vector<int32_t> tokens;
  size_t given = 0;
  // Whether the record's whole text has other tokens: one of them crosses the prompt's end. The completion is then
  // encoded as a continuation of the prompt.
  bool isRecut = false;

  static EncodedCompletion of(const Completion &record, const TextCodec &vocabulary);
};

// Fails at the first line that is no record.
Status checkCompletions(const LineBlocks &file);

// A line as a vocabulary is learnt from it: both texts.
std::string textOfCompletion(std::string_view line);

class Completions final : public ExampleBlocks {
public:
  // `limits` count the tokens that are predicted. Records and vocabulary outlive this.
  Completions(const LineBlocks &records, const TextCodec &vocabulary, int64_t maximumLength, Marks marks)
      : records(records), vocabulary(vocabulary), maximumLength(maximumLength), marks(marks) {}

  size_t blocks() const override { return records.blocks(); }
  uint64_t linesPerBlock() const override { return records.linesPerBlock(); }
  const std::string &fingerprint() const override { return records.fingerprint(); }
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  const LineBlocks &records;
  const TextCodec &vocabulary;
  int64_t maximumLength;
  Marks marks;
};

} // namespace heddle
