// An engine without a device. Its training is a chain of hashes, so any difference in the data, their order or the
// state shows in every later loss. Its translation is the source backwards, computed only from the caches, so a wrong
// row, length or history shows, too. Other tokens are improbable; smaller ones are less so.
#pragma once

#include "runtime/model/Engine.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace heddle::test {

class FakeEngine final : public Engine {
public:
  static constexpr int32_t kVocabulary = 64;
  static constexpr int64_t kBeam = 4;

  // `limits` are max_tokens, max_sequences and max_length.
  FakeEngine(int64_t maximumTokens, int64_t maximumSequences, int64_t maximumLength);

  std::string_view description() const override { return text; }
  uint64_t artifactSeal() const override { return 0x5ea1; }
  std::span<const VariableInfo> variables() const override { return {}; }
  bool hasEntry(std::string_view entry) const override { return entries.contains(entry); }
  const EntryInfo *findEntry(std::string_view entry) const override;
  Status prepare(std::span<const std::string_view>, const KernelProgress &) override { return Success(); }
  Status run(std::string_view entry, std::span<const Input> inputs) override;
  Result<HostTensor> output(std::string_view name) override;
  Result<PendingTensor> outputLater(std::string_view name) override;
  Result<PendingTensor> variableLater(std::string_view name) override;
  Status copyCacheRows(int64_t, int64_t, int64_t, int64_t) override { return Success(); }
  Status init(uint64_t seed) override;
  Result<HostTensor> readVariable(std::string_view name) override;
  Status writeVariable(std::string_view, const TensorView &) override { return Success(); }
  Status save(const std::filesystem::path &path, const VariableKinds &kinds) override;
  Status load(const std::filesystem::path &path, const VariableKinds &kinds) override;

  std::set<std::string, std::less<>> entries = {"init", "train_step", "accumulate_step", "apply_step",
                                                "eval", "logits",     "encode",          "beam_step"};
  std::vector<std::string> calls;
  std::vector<size_t> lossReads; // for each loss that was read, how many calls had been made
  std::vector<float> tokenScales;
  std::string text;
  int64_t nanAtStep = -1, explodeAtStep = -1;
  std::vector<float> validationLosses; // one per validation; 0.5 when none is left
  bool forgetsMoments = false;         // loads everything but the optimizer's moments
  bool failSaves = false;
  std::string failing;     // an entry whose calls fail
  bool endsSources = true; // whether sources have an end mark

private:
  std::span<const int32_t> ints(std::string_view name) const;
  void checkPacking(const std::string &side, size_t tokens);
  Status train();
  void evaluate();
  void encode();
  void beamStep();
  int32_t nextToken(std::span<const int32_t> source, std::span<const int32_t> prefix);
  static float logProbabilityOf(int32_t token, int32_t predicted);

  int32_t validatedStep = -1;
  int64_t maximumTokens, maximumSequences, maximumLength;
  std::span<const Input> inputs;
  EntryInfo ofSource, ofText, ofLoss; // entries that take the source; the target, too; and the tokens to predict
  std::map<std::string, HostTensor, std::less<>> outputs;
  std::vector<int32_t> sourceCache, targetCache;
  std::vector<std::vector<int32_t>> histories; // rows of the target cache, by hypothesis
  int32_t weights[2] = {}, moments[2] = {}, seed[2] = {}, step = 0;
};

} // namespace heddle::test
