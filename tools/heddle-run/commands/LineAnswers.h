// The loop of all commands that answer lines from standard input.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/core/Status.h"
#include "runtime/model/LinePool.h"
#include "runtime/text/InputLines.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

namespace heddle::run {

// How many lines are read ahead, in multiples of one call's capacity. It is large enough to group lines of similar
// length and to keep one long line from holding up the others, and small enough to bound memory.
inline constexpr uint64_t kCallsAhead = 8;

inline void printLine(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::putchar('\n');
}

// Passes each line to `add`, which hands it to the worker. Passes each of the worker's answers to `print`, in order, as
// soon as it is ready. At most `window` lines are in work. If the reader of standard output has gone, this ends without
// an error.
template <typename Worker, typename Add, typename Print>
Status answerLines(Worker &worker, uint64_t window, Add add, Print print,
                   InputLines::LongLines longLines = InputLines::LongLines::Cut) {
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe shows as a failed write
  InputLines input(STDIN_FILENO, longLines);
  while (true) {
    if (worker.held() < window && !input.ended()) {
      auto wait = worker.busy() ? InputLines::Wait::No : InputLines::Wait::ForOne;
      HEDDLE_ASSIGN(std::vector<std::string> lines, input.next(size_t(window - worker.held()), wait));
      Span span("tokenise lines");
      span.with("lines", int64_t(lines.size()));
      for (std::string &line : lines)
        HEDDLE_CHECK(add(line));
    }
    HEDDLE_CHECK(worker.step());
    auto answers = worker.take();
    Span span("write answers");
    span.with("lines", int64_t(answers.size()));
    for (const auto &answer : answers)
      print(answer);
    if (!answers.empty() && std::fflush(stdout) != 0) {
      if (errno != EPIPE)
        return makeError(ErrorKind::Io, "cannot write the answers: ", std::strerror(errno), ".");
      std::clearerr(stdout);
      return Success();
    }
    if (worker.held() == 0 && input.ended())
      return Success();
  }
}

// Does the same with several workers, one per device, and `window` lines in work for each. `lineOf` is called with the
// lines in order and returns a Result of a LinePool's Line, which gives the line to a worker.
template <typename Worker, typename LineOf, typename Print>
Status distributeLines(std::vector<std::unique_ptr<Worker>> workers, uint64_t window, LineOf lineOf, Print print) {
  using Line = typename LinePool<Worker>::Line;
  if (workers.size() == 1) { // no extra thread
    Worker &worker = *workers.front();
    auto add = [&](std::string &line) -> Status {
      HEDDLE_ASSIGN(Line give, lineOf(line));
      return give(worker);
    };
    return answerLines(worker, window, add, print);
  }
  window *= workers.size();
  LinePool<Worker> pool(std::move(workers));
  auto add = [&](std::string &line) -> Status {
    HEDDLE_ASSIGN(Line give, lineOf(line));
    pool.add(std::move(give));
    return Success();
  };
  return answerLines(pool, window, add, print);
}

// Does the same with lines that are passed to a worker's add(line, arguments...).
template <typename Worker, typename Print, typename... Arguments>
Status shareLines(std::vector<std::unique_ptr<Worker>> workers, uint64_t window, Print print, Arguments... arguments) {
  auto lineOf = [=](std::string &line) -> Result<typename LinePool<Worker>::Line> {
    return [=, line = std::move(line)](Worker &worker) { return worker.add(line, arguments...); };
  };
  return distributeLines(std::move(workers), window, lineOf, print);
}

// A worker for answerLines() that answers at once.
struct ImmediateAnswers {
  std::vector<std::string> answers;

  uint64_t held() const { return answers.size(); }
  bool busy() const { return false; }
  Status step() { return Success(); }
  std::vector<std::string> take() { return std::exchange(answers, {}); }
};

} // namespace heddle::run
