#include "runtime/serve/Metrics.h"

#include "runtime/core/Status.h"

#include <algorithm>

namespace heddle::serve {

void Histogram::add(double seconds) {
  std::lock_guard lock(mutex);
  ++counts[size_t(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
  sum += seconds;
}

void Histogram::print(std::string &text, const char *name, const char *help) const {
  std::lock_guard lock(mutex);
  text += str("# HELP ", name, " ", help, "\n# TYPE ", name, " histogram\n");
  uint64_t total = 0;
  for (size_t i = 0; i < kBounds.size(); ++i)
    text += str(name, "_bucket{le=\"", kBounds[i], "\"} ", total += counts[i], "\n");
  total += counts.back();
  text += str(name, "_bucket{le=\"+Inf\"} ", total, "\n", name, "_sum ", sum, "\n", name, "_count ", total, "\n");
}

void Metrics::countRequest(const std::string &path, int status) {
  std::lock_guard lock(mutex);
  ++requests[{path, status}];
}

std::string Metrics::print(size_t connections) const {
  std::string text =
      "# HELP heddle_requests_total Requests by path and status.\n# TYPE heddle_requests_total counter\n";
  {
    std::lock_guard lock(mutex);
    for (const auto &[of, count] : requests)
      text += str("heddle_requests_total{path=\"", of.first, "\",status=\"", of.second, "\"} ", count, "\n");
  }
  auto number = [&](const char *type, const char *name, const char *help, auto value) {
    text += str("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n", name, " ", value, "\n");
  };
  number("counter", "heddle_prompt_tokens_total", "Tokens of prompts.", promptTokens.load());
  number("counter", "heddle_reused_prompt_tokens_total", "Tokens of prompts that were not computed again.",
         reusedTokens.load());
  number("counter", "heddle_generated_tokens_total", "Tokens of answers.", generatedTokens.load());
  number("counter", "heddle_steps_total", "Steps of the model.", steps.load());
  number("counter", "heddle_cancelled_total", "Sequences that were given up, as their client had gone.",
         cancelled.load());
  number("gauge", "heddle_queue_length", "Sequences that wait.", queued.load());
  number("gauge", "heddle_batch_size", "Sequences in work.", running.load());
  number("gauge", "heddle_connections", "Open connections.", connections);
  firstToken.print(text, "heddle_time_to_first_token_seconds", "From a request to the first token of its answer.");
  whole.print(text, "heddle_request_seconds", "From a request to the end of its answer.");
  return text;
}

} // namespace heddle::serve
