// Continues the prompts of many clients with one model, in its own thread, in which other calls of the model have turns.
#pragma once

#include "runtime/model/AnswerText.h"
#include "runtime/model/Generator.h"
#include "runtime/serve/DeviceFailure.h"
#include "runtime/serve/Metrics.h"
#include "runtime/serve/ModelThread.h"
#include "runtime/tokenizers/TextCodec.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::serve {

// A new piece of an answer.
struct TextPiece {
  std::string text; // whole characters; may be empty
  std::span<const int32_t> tokens;
  std::span<const TokenScore> scores; // of these tokens, if requested
};

struct TextAnswer {
  std::string text;          // the text that no piece contained
  Continuation continuation; // the complete continuation
  bool isLate = false;       // true if its time limit was exceeded
};

struct TextJob {
  Prompt prompt; // the engine sets its number
  std::vector<std::string> stops;
  size_t adapter = 0;                             // number of the adapter; 0: none
  std::function<void(const TextPiece &)> onPiece; // null: all text comes with the answer
  std::function<void(TextAnswer)> onEnd;          // called once, unless the job is cancelled
};

class TextEngine {
public:
  struct Options {
    int64_t queue = 256;            // maximum number of waiting sequences, in addition to the model's batch
    int64_t promptTokens = 512;     // see GeneratorLimits
    std::chrono::seconds time{600}; // maximum time of a sequence
    // Loads the weights of an adapter. Called in the engine's thread.
    std::function<Status(size_t adapter)> switchAdapter = {};
  };

  // All referenced objects must outlive this.
  TextEngine(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, Metrics &metrics,
             Options options);

  // The longest prompt, in tokens.
  int64_t longestPrompt() const { return longest; }

  // Accepts all of the jobs, or none if there is no room. Returns the number of the first job; the others have
  // consecutive numbers. The jobs' functions are called in the engine's thread.
  std::optional<uint64_t> submit(std::vector<TextJob> jobs);
  void cancel(uint64_t first, size_t count);

  // Calls of the model beside the texts. All functions are called in the engine's thread.
  struct Turns {
    size_t adapter = 0;                        // whose weights the calls need
    std::function<Result<bool>()> turn;        // makes a call; returns true if another one must follow
    std::function<void(const Error &)> failed; // called if a turn fails, or the weights cannot be loaded
  };
  // The first turn has its place among the jobs in their order of arrival. Turns alternate with the model's steps and
  // with other turns.
  void takeTurns(Turns turns);

  // Calls the function in the engine's thread when all jobs submitted before and turns begun before have ended, then
  // `done`.
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done);
  // Why the device no longer works; empty if it does.
  std::string failure() const { return lost.get(); }

private:
  using Clock = std::chrono::steady_clock;

  struct Active {
    TextJob job;
    AnswerText text;
    Clock::time_point start;
    size_t reported = 0; // number of tokens passed to onPiece
  };
  // A waiting job, turns, or a function that runs when no job is in work.
  struct Queued {
    std::optional<Active> active;
    std::optional<Turns> turns;
    std::function<void()> whenIdle;

    // Returns true if it waits until no job with another adapter is in work.
    bool waitsFor(size_t adapter) const {
      return whenIdle || (turns ? turns->adapter : active->job.adapter) != adapter;
    }
  };

  bool step();
  void admit();
  void admitFirst();
  Result<bool> takeTurn(const Turns &turns);
  void takeFirstTurn();
  Status load(size_t adapter);
  bool watch(const Progress &progress);
  void end(Continuation continuation, bool isLate = false);
  void endLate();
  void note(const Error &error);
  void fail(const Error &error);

  const ModelDescription &model;
  const TextCodec &vocabulary;
  Metrics &metrics;
  Options options;
  int64_t longest;
  std::atomic<uint64_t> nextNumber = 1;
  std::atomic<int64_t> unfinished = 0;
  DeviceFailure lost;
  // Used by the engine's thread.
  Generator generator;
  std::deque<Queued> queue;
  std::map<uint64_t, Active> active; // by number
  size_t adapter = 0;
  ModelThread thread; // must be the last member: it uses the others
};

} // namespace heddle::serve
