// Continues token sequences with a decoder alone: greedily or by sampling, each by options of its own. Sequences go on
// side by side; between two steps new ones join, and those that are finished or cancelled leave.
//
// What a sequence becomes depends on its own tokens and options only, not on the sequences beside it, but for the
// rounding of sums.
#pragma once

#include "runtime/model/CallInputs.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/Sampling.h"
#include "runtime/model/SequenceRows.h"

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
  int64_t tokens = 50;                     // to continue a prompt with at most; 0: the prompt is only read
  std::optional<SamplingOptions> sampling; // none: the most probable token each time
  double repetitionPenalty = 1;            // of tokens that the sequence has (Keskar et al. 2019, section 4.1); 1: none
  int64_t penaltyWindow = 0;               // how many last tokens the penalty looks at; 0: all
  // Wants the log-probability of each new token, and those of this many most probable tokens in its place. The host
  // then chooses tokens, and draws others than the device does.
  std::optional<int64_t> alternatives = {};
  bool scoresPrompt = false; // wants the same of the prompt's tokens, but the first
};

// Why a continuation ends: by the end mark, after as many tokens as were asked for, because the model has no room for
// more, by the caller's wish, or by an error.
enum class Ending { Mark, Length, Room, Wish, Error };

struct Prompt {
  uint64_t number = 0; // names it
  std::vector<int32_t> tokens;
  GenerationOptions options = {};
  uint64_t draws = 0; // names its random numbers: two prompts with the same seed and the same name draw alike
};

// What the model thought of a token, before temperature and penalties.
struct TokenScore {
  struct Choice {
    int32_t token;
    float logProbability;
  };
  float logProbability = 0;
  std::vector<Choice> best; // the best first
};

struct Continuation {
  uint64_t number = 0;
  std::vector<int32_t> tokens; // without the end mark
  Ending ending = Ending::Mark;
  std::vector<TokenScore> scores = {};       // of the tokens, if they were asked for
  std::vector<TokenScore> promptScores = {}; // of the prompt's tokens from the second one on
  std::optional<Error> error = {};           // with Ending::Error
  int64_t reused = 0;                        // tokens of the prompt that were not computed again
};

// A sequence's continuation after one more token.
struct Progress {
  uint64_t number;
  std::span<const int32_t> tokens;
  std::span<const TokenScore> scores; // one for each token, if they were asked for
};
// True ends the sequence.
using Watch = std::function<bool(const Progress &)>;

struct GeneratorLimits {
  // Prompt tokens that are read before a step at most, so that long prompts do not stall the sequences beside them; 0:
  // as many as a call holds.
  int64_t promptTokens = 0;
  bool keepsTexts = false; // a prompt that begins like a text that is over does not compute that beginning again
};

class Generator {
public:
  Generator(Engine &engine, const ModelDescription &model, Watch watch = {}, GeneratorLimits limits = {})
      : engine(engine), model(model), watch(std::move(watch)), limits(limits), readsAhead(engine.hasEntry(kPrefill)),
        cacheRows(model.maximumTokens) {}

  // The entry that a model needs to continue text with these options. The host draws by rules that the device does not
  // have.
  static std::string_view entryOf(const Engine &engine, const GenerationOptions &options) {
    bool isOfDevice =
        (!options.sampling || options.sampling->isOfDevice()) && !options.alternatives && !options.scoresPrompt;
    return isOfDevice && engine.hasEntry(kSampleStep) ? kSampleStep : kDecodeStep;
  }

  // Tokens of a prompt with its continuation at most.
  int64_t maximumLength() const { return std::min(model.maximumLength, model.maximumTokens); }

  // Refuses prompts that have no token, tokens that the model does not have, or no room for a token more, and options
  // that need an entry which the artifact lacks.
  Status add(Prompt prompt);
  // Gives up a prompt that is not finished. False if there is none of this number.
  bool cancel(uint64_t number);
  // Gives up all.
  void cancelAll();
  // Added and not yet finished, and of these the ones that have rows in the caches.
  size_t pending() const { return waiting.size() + jobs.size(); }
  size_t inWork() const { return jobs.size(); }
  // The weights are others now: nothing that was computed before is of use. Nothing may be pending.
  void forgetKept() { cacheRows.forgetKept(); }

  // Takes in what there is room for, reads prompts, gives each sequence whose prompt is read a token more, and returns
  // the sequences that are finished, also those that failed alone. After an error of the device nothing is pending: all
  // that was added is lost.
  Result<std::vector<Continuation>> step();

private:
  // The device chooses tokens in the one; models that were compiled before there was it have the other, and the host
  // chooses. The host also chooses where the device does not know the rule, or scores are wanted.
  // A model without `prefill`, a recurrence or one that was compiled before there was the entry, reads a prompt by
  // `sample_step` or `decode_step`, a token a call.
  static constexpr std::string_view kSampleStep = "sample_step", kDecodeStep = "decode_step", kPrefill = "prefill";
  // Prompts that may overtake one for which there is no room.
  static constexpr int64_t kMostOvertakes = 64;

  struct Waiting {
    Prompt prompt;
    size_t continued = 0; // of its tokens those that are no prompt's: it was in work before and lost its rows
    std::vector<TokenScore> scores = {}, promptScores = {};
    int64_t overtaken = 0, reused = 0;
  };

  // A sequence in work. `read` of its tokens are in the cache, at the first of its rows; the rest of them, never none,
  // has to go there before there is a next one.
  struct Job {
    uint64_t number;
    std::vector<int32_t> tokens;
    size_t prompt; // tokens of it
    GenerationOptions options;
    uint64_t draws;
    SequenceRange rows;
    bool drawsOnDevice;
    size_t read = 0;
    int64_t reused = 0;
    std::vector<TokenScore> scores = {}, promptScores = {};
    std::optional<Continuation> end = {};

    std::span<const int32_t> continuation() const { return std::span(tokens).subspan(prompt); }
    // Tokens of the prompt that are yet to be scored.
    size_t unscored() const {
      return options.scoresPrompt ? prompt - 1 - std::min(prompt - 1, promptScores.size()) : 0;
    }
    // Whether the answer to this place is the next token.
    bool isLast(size_t place) const { return place + 1 == tokens.size(); }
  };

  // A token of a call: where it is in its sequence.
  struct Row {
    Job *job;
    size_t place;
  };

  // The new tokens of a call: where each goes in the caches, and which rows of them it attends to.
  struct NewTokens {
    std::vector<int32_t> token, position, starts, lengths, rows, pastStarts, pastLengths;

    void add(const Row &row);
    void addTo(CallInputs &inputs) const;
  };

  // What the device draws by, a number for each row, and the logits that it penalises.
  struct Choices {
    std::vector<float> temperature, topP, penalty;
    std::vector<int32_t> topK, keyLow, keyHigh, seenRows, seenTokens;
  };

  int64_t longest(size_t prompt, const GenerationOptions &options) const;
  Result<std::vector<Continuation>> decode(); // step(), without what an error asks for
  void admit();
  bool admit(Waiting &next);
  void growRows();
  void putBack(std::list<Job>::iterator job);
  void release(Job &job);
  Status readPrompts();
  Status runStep(std::string_view entry, std::span<const Row> rows);
  Status drawOnDevice(std::vector<Row> &forHost);
  Status chooseOnHost(std::span<const Row> rows);
  void addChoice(const Row &row, Choices &choices) const;
  bool needsLogits(const Row &row) const;
  Result<int32_t> chooseToken(const Job &job, int32_t ofDevice, std::span<const float> logits) const;
  void advance(Job &job, int32_t token);
  static void finish(Job &job, Ending ending, std::optional<Error> error = {});

  Engine &engine;
  const ModelDescription &model;
  Watch watch;
  GeneratorLimits limits;
  bool readsAhead;
  std::deque<Waiting> waiting;
  std::list<Job> jobs; // in the order in which they came
  SequenceRows cacheRows;
};

} // namespace heddle
