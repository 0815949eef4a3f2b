// An engine without variables, for tests that define its entries.
#pragma once

#include "runtime/model/Engine.h"

namespace heddle::test {

class WeightlessEngine : public Engine {
public:
  std::string_view description() const override { return "{}"; }
  uint64_t artifactSeal() const override { return 0; }
  std::span<const VariableInfo> variables() const override { return {}; }
  Status prepare(std::span<const std::string_view>, const KernelProgress &) override { return Success(); }
  Status init(uint64_t) override { return Success(); }
  Status copyCacheRows(int64_t, int64_t, int64_t, int64_t) override { return notHere(); }
  Result<HostTensor> readVariable(std::string_view) override { return HostTensor(); }
  Status writeVariable(std::string_view, const TensorView &) override { return Success(); }
  Status save(const std::filesystem::path &, const VariableKinds &) override { return Success(); }
  Status load(const std::filesystem::path &, const VariableKinds &) override { return Success(); }
  Result<PendingTensor> outputLater(std::string_view) override { return notHere(); }
  Result<PendingTensor> variableLater(std::string_view) override { return notHere(); }

private:
  static Error notHere() { return makeError(ErrorKind::Unsupported, "not here."); }
};

} // namespace heddle::test
