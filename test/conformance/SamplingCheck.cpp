// Prints the probabilities of tokens. Each line of standard input is a JSON object with the logits, the text so far and
// the rules (sampling.py writes it); each line of the output is a list of [token, probability].
#include "runtime/model/Sampling.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <string>

using namespace heddle;
using Json = nlohmann::json;

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    Json given = Json::parse(line);
    SamplingOptions options;
    options.temperature = given["temperature"];
    options.topK = given["top_k"];
    options.topP = given["top_p"];
    options.minP = given["min_p"];
    if (given.contains("samplers")) {
      Result<std::vector<Sampler>> order = parseSamplers(given["samplers"].get<std::string>());
      if (!order.ok()) {
        std::fprintf(stderr, "%s\n", order.error().message.c_str());
        return 1;
      }
      options.order = *order;
    }
    auto logits = given["logits"].get<std::vector<float>>();
    auto text = given["text"].get<std::vector<int32_t>>();
    logits = penaliseRepetition(logits, lastTokens(text, given["window"]), given["penalty"]);
    Json answer = Json::array();
    for (const Chance &chance : chances(logits, options))
      answer.push_back({chance.token, chance.probability});
    std::cout << answer.dump() << "\n";
  }
}
