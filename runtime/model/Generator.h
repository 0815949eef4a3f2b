// Continues token sequences with a decoder-only model, greedily or by sampling, each with its own options. Sequences
// are decoded side by side; between two steps new ones join, and finished or cancelled ones leave.
//
// A sequence's result depends only on its own tokens and options, not on the sequences beside it, except for the
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
  int64_t tokens = 50;                     // the most new tokens; 0: the prompt is only read
  std::optional<SamplingOptions> sampling; // nullopt: always the most probable token
  // For tokens that the sequence already contains (Keskar et al. 2019, section 4.1); 1: no penalty.
  double repetitionPenalty = 1;
  int64_t penaltyWindow = 0; // the penalty looks at this many last tokens; 0: all
  // If set, the result has the log-probability of each new token, and of this many most probable tokens at its place.
  // The host then chooses tokens, and draws other tokens than the device does.
  std::optional<int64_t> alternatives = {};
  bool scoresPrompt = false; // also scores the prompt's tokens, except the first
  bool ignoresEnd = false;   // an end mark is a token like others, so the result has the most new tokens
};

// Why a continuation ended. Mark: the end mark. Length: as many tokens as requested. Room: the model has no room for
// more. Wish: the caller's Watch. Error: an error.
enum class Ending { Mark, Length, Room, Wish, Error };

struct Prompt {
  uint64_t number = 0; // identifies the prompt
  std::vector<int32_t> tokens;
  GenerationOptions options = {};
  uint64_t draws = 0; // identifies its random numbers: two prompts with the same seed and the same `draws` draw alike
};

// The model's log-probabilities for a token, before temperature and penalties.
struct TokenScore {
  struct Choice {
    int32_t token;
    float logProbability;
  };
  float logProbability = 0;
  std::vector<Choice> best; // best first
};

struct Continuation {
  uint64_t number = 0;
  std::vector<int32_t> tokens; // without the end mark
  Ending ending = Ending::Mark;
  std::vector<TokenScore> scores = {};       // of the tokens, if requested
  std::vector<TokenScore> promptScores = {}; // of the prompt's tokens from the second on
  std::optional<Error> error = {};           // with Ending::Error
  int64_t reused = 0;                        // prompt tokens whose cached keys and values were reused
};

// A sequence's continuation after each new token.
struct Progress {
  uint64_t number;
  std::span<const int32_t> tokens;
  std::span<const TokenScore> scores; // one for each token, if requested
};
// Returns true to end the sequence.
using Watch = std::function<bool(const Progress &)>;

struct GeneratorLimits {
  // The most prompt tokens that are read before a step, so that long prompts do not stall other sequences; 0: as many
  // as a call holds.
  int64_t promptTokens = 0;
  // Keeps the cache rows of finished texts until others need them. A prompt that begins like a kept text or like a
  // running sequence takes over or copies these rows. The engine must be able to copy rows.
  bool keepsTexts = false;
};

class Generator {
public:
  Generator(Engine &engine, const ModelDescription &model, Watch watch = {}, GeneratorLimits limits = {})
      : engine(engine), model(model), watch(std::move(watch)), limits(limits), readsAhead(engine.hasEntry(kPrefill)),
        cacheRows(model.cacheRows) {}

  // The entry that continues text with these options. The host draws if the device does not support the rules.
  static std::string_view entryOf(const Engine &engine, const GenerationOptions &options) {
    bool isOfDevice =
        (!options.sampling || options.sampling->isOfDevice()) && !options.alternatives && !options.scoresPrompt;
    return isOfDevice && engine.hasEntry(kSampleStep) ? kSampleStep : kDecodeStep;
  }

  // The most tokens of a prompt and its continuation together.
  int64_t maximumLength() const { return std::min(model.maximumLength, model.cacheRows); }

  // Refuses empty prompts, prompts with unknown tokens or without room for another token, and options that need an
  // entry which the artifact lacks.
  Status add(Prompt prompt);
  // Cancels an unfinished prompt. Returns false if there is no prompt with this number.
  bool cancel(uint64_t number);
  // Cancels all prompts.
  void cancelAll();
  // The prompts added but not finished, and those of them that have rows in the caches.
  size_t pending() const { return waiting.size() + jobs.size(); }
  size_t inWork() const { return jobs.size(); }
  // Call this when the weights have changed, so that kept texts are useless. Nothing may be pending.
  void forgetKept() { cacheRows.forgetKept(); }

  // Admits prompts while there is room, reads prompts, extends each sequence whose prompt is read by one token, and
  // returns the finished sequences, including those that failed individually. After a device error nothing is pending:
  // all prompts are lost.
  Result<std::vector<Continuation>> step();

private:
  // In `sample_step` the device chooses tokens. Models compiled before this entry existed have only `decode_step`, and
  // the host chooses. The host also chooses if the device does not support the rule, or if scores are requested.
  // A model without `prefill` (a recurrent one, or one compiled before the entry existed) reads a prompt with
  // `sample_step` or `decode_step`, one token per call.
  static constexpr std::string_view kSampleStep = "sample_step", kDecodeStep = "decode_step", kPrefill = "prefill";
  // The number of prompts that may overtake a prompt that does not fit.
  static constexpr int64_t kMostOvertakes = 64;
  // Rows of a shared prefix are copied, or waited for, if they are at least this many.
  static constexpr int64_t kLeastShared = 8;

  struct Waiting {
    Prompt prompt;
    size_t continued = 0; // generated tokens among its tokens: it was in work before and lost its rows
    std::vector<TokenScore> scores = {}, promptScores = {};
    int64_t overtaken = 0, reused = 0;
  };

  // A sequence in work. Its first `read` tokens are in the cache, in the first of its rows. The others (at least one)
  // must be put there before there is a next token.
  struct Job {
    uint64_t number;
    std::vector<int32_t> tokens;
    size_t prompt; // number of prompt tokens
    GenerationOptions options;
    uint64_t draws;
    SequenceRange rows;
    bool drawsOnDevice;
    size_t read = 0;
    int64_t reused = 0;
    std::vector<TokenScore> scores = {}, promptScores = {};
    std::optional<Continuation> end = {};

    std::span<const int32_t> continuation() const { return std::span(tokens).subspan(prompt); }
    // Prompt tokens that still need a score.
    size_t unscored() const {
      return options.scoresPrompt ? prompt - 1 - std::min(prompt - 1, promptScores.size()) : 0;
    }
    // Returns true if the output at this place is the next token.
    bool isLast(size_t place) const { return place + 1 == tokens.size(); }
  };

  // A token of a call: its sequence and its index there.
  struct Row {
    Job *job;
    size_t place;
  };

  // The new tokens of a call, with their cache rows and the cache rows that each attends to.
  struct NewTokens {
    std::vector<int32_t> token, position, starts, lengths, rows, pastStarts, pastLengths;

    void add(const Row &row);
    void addTo(CallInputs &inputs, const EntryInfo *entry) const; // entry: null if it is not known
  };

  // The device's sampling parameters for each row, and the logits to penalize.
  struct Choices {
    std::vector<float> temperature, topP, penalty;
    std::vector<int32_t> topK, keyLow, keyHigh, seenRows, seenTokens;
  };

  int64_t longest(size_t prompt, const GenerationOptions &options) const;
  Result<std::vector<Continuation>> decode(); // step() without the clean-up after an error
  void admit();
  bool admit(Waiting &next);
  Status growRows();
  void putBack(std::list<Job>::iterator job);
  void release(Job &job);
  std::optional<SequenceRows::Reused> rowsFor(std::span<const int32_t> tokens, int64_t count, bool mayGrow,
                                              bool reuses);
  Status copyPrefixes();
  Status copyPrefix(Job &job);
  bool followsAnother(const Job &job) const;
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
  std::list<Job> jobs; // in order of arrival
  SequenceRows cacheRows;
};

} // namespace heddle
