// Continues token sequences with a decoder alone: greedily or by sampling. Sequences go on side by side; one that is
// finished leaves at once, and its place goes to one that waits.
#pragma once

#include "runtime/model/CacheRows.h"
#include "runtime/model/CallInputs.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/Sampling.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

struct GenerationOptions {
  int64_t tokens = 50;                     // to continue a prompt with at most
  std::optional<SamplingOptions> sampling; // none: the most probable token each time
  double repetitionPenalty = 1;            // of tokens that the sequence has (Keskar et al. 2019, section 4.1); 1: none
  int64_t penaltyWindow = 0;               // how many last tokens the penalty looks at; 0: all
};

// Why a continuation ends: by the end mark, after as many tokens as were asked for, where the model has no room for
// more, or by the caller's wish.
enum class Ending { Mark, Length, Room, Wish };

struct Prompt {
  uint64_t number = 0; // names it, and its random numbers
  std::vector<int32_t> tokens;
};

struct Continuation {
  uint64_t number = 0;
  std::vector<int32_t> tokens; // without the end mark
  Ending ending = Ending::Mark;
};

// Looks at a sequence's continuation so far after each token; true ends it.
using Watch = std::function<bool(uint64_t number, std::span<const int32_t> continuation)>;

class Generator {
public:
  Generator(Engine &engine, const ModelDescription &model, GenerationOptions options, Watch watch = {})
      : engine(engine), model(model), options(options), watch(std::move(watch)),
        drawsOnDevice(entryOf(engine, options) == kSampleStep), cacheRows(model.maximumTokens) {}

  // The entry that a model needs to continue text with these options. The host draws by rules that the device does not
  // have.
  static std::string_view entryOf(const Engine &engine, const GenerationOptions &options) {
    bool isOfDevice = !options.sampling || options.sampling->isOfDevice();
    return isOfDevice && engine.hasEntry(kSampleStep) ? kSampleStep : kDecodeStep;
  }

  // Tokens of a prompt with its continuation at most.
  int64_t maximumLength() const { return std::min(model.maximumLength, model.maximumTokens); }

  // Prompts have 1 to maximumLength() - 1 tokens: others are refused.
  Status add(Prompt prompt);
  // Added and not yet finished.
  size_t pending() const { return waiting.size() + jobs.size(); }

  // Takes in what there is room for, gives each sequence in work a token more, or reads on in its prompt, and returns
  // those that are finished. After an error nothing is pending: all that was added is lost.
  Result<std::vector<Continuation>> step();

private:
  // The device chooses tokens in the one; models that were compiled before there was it have the other, and the host
  // chooses.
  // A model without `prefill`, a recurrence or one that was compiled before there was the entry, reads a prompt by
  // `sample_step` or `decode_step`, a token a call.
  static constexpr std::string_view kSampleStep = "sample_step", kDecodeStep = "decode_step", kPrefill = "prefill";

  // A sequence in work. `read` of its tokens are in the cache, at rows from `firstRow` on; the rest of them, never
  // none, has to go there before there is a next one.
  struct Job {
    uint64_t number;
    std::vector<int32_t> tokens;
    size_t prompt; // tokens of it
    int64_t firstRow, rows;
    size_t read = 0;

    bool isReadInStep() const { return read + 1 == tokens.size(); }
  };

  // The new tokens of a call: where each goes in the caches, and which rows of them it attends to.
  struct NewTokens {
    std::vector<int32_t> token, position, starts, lengths, rows, pastStarts, pastLengths;

    void add(const Job &job, size_t place);
    void addTo(CallInputs &inputs) const;
  };

  // What the device draws by, a number for each row, and the logits that it penalises.
  struct Choices {
    std::vector<float> temperature, topP, penalty;
    std::vector<int32_t> topK, keyLow, keyHigh, seenRows, seenTokens;
  };

  int64_t longest(size_t prompt) const;
  Result<std::vector<Continuation>> decode(); // step(), without what an error asks for
  void admit();
  Status readPrompts();
  Status runStep(std::string_view entry);
  // Whether the step gave a token that has no piece, which is chosen again on the host.
  bool choseUnknown(std::span<const int32_t> next) const;
  void addChoice(const Job &job, Choices &choices) const;
  bool needsLogits(const Job &job) const;
  Result<int32_t> chooseToken(const Job &job, int32_t ofDevice, std::span<const float> logits) const;
  std::optional<Continuation> advance(Job &job, int32_t token) const;

  Engine &engine;
  const ModelDescription &model;
  GenerationOptions options;
  Watch watch;
  bool drawsOnDevice;
  std::deque<Prompt> waiting;
  std::list<Job> jobs; // in the order in which they came
  RowRanges cacheRows;
};

} // namespace heddle
