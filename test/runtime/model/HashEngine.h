// An engine of a decoder-only model, without a device.
#pragma once

#include "runtime/model/Sampling.h"
#include "test/runtime/model/WeightlessEngine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

// Its caches hold tokens. The logits after a token are a hash of all tokens up to it, as read from the caches, so a
// wrong or missing row shows. After the token kPoison all logits are NaN. The entry `encode`, which it has if the test
// adds it to the entries, gives each token the hidden state (token * factor, 1).
class HashEngine final : public WeightlessEngine {
public:
  static constexpr int32_t kVocabulary = 64, kEnd = 2, kPoison = 63;

  explicit HashEngine(int64_t rows) : cache(size_t(rows), -1) {}

  bool hasEntry(std::string_view entry) const override { return entries.contains(entry); }
  const EntryInfo *findEntry(std::string_view name) const override {
    return name == "encode" && hasEntry(name) ? &encode : nullptr;
  }

  Status run(std::string_view entry, std::span<const Input> inputs) override {
    auto find = [&](std::string_view name) {
      return std::ranges::find(inputs, name, [](const Input &input) { return input.name; })->tensor;
    };
    if (entry == "encode") {
      hidden.clear();
      for (int32_t id : find("target_in").values<int32_t>())
        hidden.insert(hidden.end(), {float(id) * factor, 1});
      calls.emplace_back(entry, hidden.size() / 2);
      if (beforeCall)
        beforeCall();
      return Success();
    }
    auto token = find("token").values<int32_t>(), rows = find("cache_rows").values<int32_t>(),
         starts = find("cache_starts").values<int32_t>(), lengths = find("cache_lengths").values<int32_t>();
    for (size_t i = 0; i < token.size(); ++i)
      cache[size_t(rows[i])] = token[i];
    calls.emplace_back(entry, token.size());
    if (beforeCall)
      beforeCall();
    next.clear();
    logits.clear();
    for (size_t row = 0; row < token.size() && entry != "prefill"; ++row) {
      std::vector<int32_t> seen(cache.begin() + starts[row], cache.begin() + starts[row] + lengths[row]);
      std::vector<float> own = logitsAfter(seen);
      bool isNumber = !std::isnan(own[3]);
      next.push_back(isNumber ? int32_t(std::ranges::max_element(own) - own.begin()) : -1);
      if (entry == "sample_step" && isNumber && find("temperature").values<float>()[row] > 0)
        next.back() = 3 + int32_t((uint32_t(find("key_low").values<int32_t>()[row]) ^ uint32_t(next.back())) % 50);
      logits.insert(logits.end(), own.begin(), own.end());
    }
    return Success();
  }
  Status copyCacheRows(int64_t rows, int64_t from, int64_t to, int64_t count) override {
    EXPECT_EQ(rows, int64_t(cache.size()));
    EXPECT_LE(std::max(from, to) + count, rows);
    std::copy_n(cache.begin() + from, count, cache.begin() + to);
    copied += count;
    return Success();
  }
  Result<HostTensor> output(std::string_view name) override {
    if (name == "hidden")
      return HostTensor::create({int64_t(hidden.size()) / 2, 2}, std::span<const float>(hidden));
    return name == "next_token" ? HostTensor::vector(next) : HostTensor::vector(logits);
  }

  static std::vector<float> logitsAfter(std::span<const int32_t> tokens) {
    std::vector<float> own(kVocabulary);
    uint64_t sum = 0x5eed;
    for (int32_t token : tokens)
      sum = randomKey(sum, uint64_t(token), 1);
    for (size_t id = 0; id < own.size(); ++id)
      own[id] = tokens.back() == kPoison ? NAN : float(uniform(sum, id, 0)) * 4;
    own[kEnd] = own[0] = own[1] = own[kPoison] = -9;
    return own;
  }

  std::set<std::string, std::less<>> entries = {"sample_step", "decode_step", "prefill"};
  std::vector<std::pair<std::string, size_t>> calls; // entry and number of rows
  std::function<void()> beforeCall;
  std::vector<int32_t> cache;
  int64_t copied = 0; // rows
  float factor = 1;   // stands for the weights

private:
  EntryInfo encode{.name = "encode",
                   .inputs = {{.name = "target_in", .of = "target", .role = "tokens"},
                              {.name = "target_starts", .of = "target", .role = "starts"}},
                   .outputs = {{.name = "hidden"}}};
  std::vector<float> hidden;
  std::vector<int32_t> next;
  std::vector<float> logits;
};

} // namespace heddle::test
