// Compares translation by `encode` and `beam_step` with a straightforward search over whole distributions, which the
// entry `logits` computes anew for every list of tokens: beam_check MODEL.heddle
#include "runtime/model/CallInputs.h"
#include "runtime/model/Translator.h"
#include "runtime/session/Session.h"
#include "test/runtime/model/ReferenceBeam.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

using namespace heddle;
using namespace heddle::test;
using Ids = std::vector<int32_t>;

namespace {

constexpr int64_t kLongest = 11;
int failures = 0;

void check(bool holds, const std::string &what) {
  failures += !holds;
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what.c_str());
}

template <typename T> T need(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.message().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

void need(Status status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::exit(1);
  }
}

class Checker {
public:
  explicit Checker(const char *artifact)
      : engine(need(Session::open(artifact))), model(need(ModelDescription::parse(engine.description()))) {
    need(engine.init(11));
    std::mt19937 random(7);
    for (size_t i = 0; i < 7; ++i) {
      Ids &sentence = sentences.emplace_back(1 + random() % 9);
      for (int32_t &token : sentence)
        token = int32_t(3 + random() % uint32_t(model.vocabularySize - 3));
    }
  }

  void run() {
    std::vector<double> greedy;
    for (int64_t width : {1, 3, 4}) {
      std::vector<std::vector<Hypothesis>> expected;
      for (const Ids &sentence : sentences)
        expected.push_back(referenceBeam(languageModel(sentence), size_t(width), 0.6, kLongest));
      std::string name = "beam " + std::to_string(width);
      std::vector<Translation> together = translate(sentences, width, true);
      compare(together, expected, name + ", 7 sentences");
      compare(translate(std::span(sentences).first(1), width, true), std::span(expected).first(1),
              name + ", 1 sentence");
      compare(translate(sentences, width, false), expected, name + ", without a cache");
      for (size_t i = 0; i < sentences.size(); ++i) {
        const Hypothesis &best = together[i].best.front();
        if (width == 1)
          greedy.push_back(best.ended ? best.score : -1e9);
        else
          check(best.score >= greedy[i] - 1e-5 || !best.ended,
                name + " is not below greedy, sentence " + std::to_string(i));
      }
    }
    samples();
  }

private:
  std::vector<float> logits(const Ids &source, const Ids &tokens) {
    Batch batch;
    batch.add(MarkedPair(source, tokens, {}, {}).example());
    CallInputs inputs;
    need(inputs.addBatch(engine.findEntry("logits"), batch));
    need(engine.run("logits", inputs));
    HostTensor all = need(engine.output("logits"));
    std::span<const float> last = all.values<float>().last(size_t(model.vocabularySize));
    return {last.begin(), last.end()};
  }

  LanguageModel languageModel(const Ids &source) {
    return [this, &source](const Ids &tokens) {
      std::vector<float> &row = known[{source, tokens}];
      if (row.empty()) {
        std::vector<float> fresh = logits(source, tokens);
        double sum = 0;
        for (float logit : fresh)
          sum += std::exp(double(logit));
        for (float logit : fresh)
          row.push_back(float(double(logit) - std::log(sum)));
      }
      return row;
    };
  }

  std::vector<Translation> translate(std::span<const Ids> sources, int64_t width, bool cache) {
    TranslationOptions options;
    options.maximumLength = kLongest;
    options.beam = width;
    options.cache = cache;
    need(Translator::check(engine, model, options));
    return need(Translator(engine, model, options).translate(sources));
  }

  static void compare(const std::vector<Translation> &actual, std::span<const std::vector<Hypothesis>> expected,
                      const std::string &what) {
    double error = 0;
    size_t different = 0, count = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      different += actual[i].best.size() != expected[i].size();
      for (size_t j = 0; j < std::min(actual[i].best.size(), expected[i].size()); ++j, ++count) {
        different += actual[i].best[j].tokens != expected[i][j].tokens;
        error = std::max(error, std::abs(actual[i].best[j].score - expected[i][j].score));
      }
    }
    check(different == 0 && error < 1e-4, what + ": " + std::to_string(count) + " hypotheses, " +
                                              std::to_string(different) + " differ, scores by " +
                                              std::to_string(error));
  }

  // Samples do not depend on other sentences, and follow the model's probabilities.
  void samples() {
    TranslationOptions options;
    options.maximumLength = kLongest;
    options.sampling = SamplingOptions{.temperature = 1.3, .topK = 12, .topP = 0.9, .seed = 5};
    std::vector<Translation> together = need(Translator(engine, model, options).translate(sentences));
    bool same = true, varied = false;
    for (size_t i = 0; i < sentences.size(); ++i) {
      Translator alone(engine, model, options);
      need(alone.add({i, sentences[i], {}}));
      std::vector<Translation> finished;
      while (finished.empty())
        finished = need(alone.step());
      same &= finished[0].best[0].tokens == together[i].best[0].tokens;
      varied |= i > 0 && together[i].best[0].tokens != together[0].best[0].tokens;
    }
    check(same && varied, "samples do not depend on the sentences beside them");

    constexpr size_t kDraws = 3000;
    options.maximumLength = 1;
    options.sampling = SamplingOptions{.seed = 5};
    auto drawn = need(Translator(engine, model, options).translate(std::vector<Ids>(kDraws, sentences[2])));
    std::vector<double> counts(size_t(model.vocabularySize));
    for (const Translation &translation : drawn)
      ++counts[translation.best[0].ended ? size_t(kEndId) : size_t(translation.best[0].tokens.at(0))];
    std::vector<float> expected = languageModel(sentences[2])({});
    double statistic = 0;
    for (size_t token = 0; token < counts.size(); ++token) {
      double mean = std::exp(double(expected[token])) * kDraws;
      statistic += (counts[token] - mean) * (counts[token] - mean) / mean;
    }
    // The normal approximation of Wilson and Hilferty: one value in a thousand is larger.
    auto freedom = double(counts.size() - 1);
    double limit = freedom * std::pow(1 - 2 / (9 * freedom) + 3.09 * std::sqrt(2 / (9 * freedom)), 3);
    check(statistic < limit,
          "frequencies of samples: chi-square " + std::to_string(statistic) + ", at most " + std::to_string(limit));
  }

  SessionEngine engine;
  ModelDescription model;
  std::vector<Ids> sentences;
  std::map<std::pair<Ids, Ids>, std::vector<float>> known;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: beam_check MODEL.heddle\n");
    return 2;
  }
  Checker(argv[1]).run();
  if (uint64_t messages = validationMessageCount())
    check(false, std::to_string(messages) + " messages of Vulkan's validation layers");
  return failures != 0;
}
