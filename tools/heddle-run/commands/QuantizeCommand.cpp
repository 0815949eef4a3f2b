#include "runtime/core/Log.h"
#include "runtime/train/CheckpointFolder.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include <algorithm>

namespace heddle::run {
namespace {

namespace fs = std::filesystem;

Status checkPacked(const Engine &engine) {
  bool isPacked = std::ranges::any_of(engine.variables(), [](const VariableInfo &variable) {
    return variable.role == VariableRole::Scales || (variable.isWeight() && variable.isNarrow());
  });
  if (!isPacked)
    return makeError(
        ErrorKind::InvalidArgument,
        "the artifact keeps its weights as f32; compile the model with --weights=int8, int4, f16 or bf16.");
  if (isFrozen(engine))
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact has adapters; quantize takes the model without --lora, and what it "
                     "writes is a base for adapters.");
  return Success();
}

} // namespace

Status runQuantize(const QuantizeCommand &command) {
  HEDDLE_ASSIGN(OpenModel model, openModel(command.common, nullptr));
  HEDDLE_CHECK(checkPacked(*model.engine));
  HEDDLE_CHECK(checkOutput(command.output));
  HEDDLE_ASSIGN(TrainedModel trained, withWeights(std::move(model), /*base=*/"", command.checkpoint));
  Manifest manifest;
  manifest.step = trained.step.value_or(0);
  manifest.artifactSeal = trained.engine->artifactSeal();
  manifest.description = trained.description.json;
  const char *const files[] = {kWeightsFile};
  auto save = [&](const fs::path &into) { return trained.engine->save(into / kWeightsFile, kWeightsOnly); };
  HEDDLE_CHECK(writeCheckpoint(command.output, files, save, *trained.vocabulary, std::move(manifest)));
  log(LogLevel::Info,
      str("weights of ", describeBytes(trained.engine->onDevice().memory().weights), "; checkpoint ", command.output));
  return Success();
}

} // namespace heddle::run
