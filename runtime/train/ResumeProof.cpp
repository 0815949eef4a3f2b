#include "runtime/train/ResumeProof.h"

namespace heddle {

std::vector<std::string> ResumeProof::differences() const {
  std::vector<std::string> result;
  for (const auto &[name, hash] : whole.files)
    if (auto other = resumed.files.find(name); other == resumed.files.end() || other->second != hash)
      result.push_back(name);
  // The files' hashes have been compared above.
  Manifest a = whole, b = resumed;
  a.files = b.files = {};
  if (a.toJson() != b.toJson())
    result.push_back("manifest.json");
  return result;
}

Result<ResumeProof> proveResume(const std::function<Result<std::unique_ptr<Engine>>()> &open, TrainingInputs inputs,
                                TrainerOptions options, const std::filesystem::path &folder,
                                TrainingObserver &observer) {
  if (options.steps < 2)
    return makeError(ErrorKind::InvalidArgument, "to interrupt a training takes at least two steps, and --steps is ",
                     options.steps, ".");
  ResumeProof proof;
  proof.steps = options.steps;
  proof.interruptedAfter = options.steps / 2;

  std::optional<ReferenceScores> reference; // of pairs of answers: the model that the first run begins with
  auto train = [&](const char *name, bool resume, uint64_t steps) -> Status {
    HEDDLE_ASSIGN(std::unique_ptr<Engine> engine, open());
    options.checkpoint = folder / name;
    uint64_t left = steps;
    Trainer trainer(*engine, inputs, options, [&] { return left-- == 0; });
    HEDDLE_CHECK(resume ? trainer.resume() : trainer.begin());
    if (inputs.model.prefers && !reference) {
      HEDDLE_ASSIGN(reference, ReferenceScores::compute(*engine, inputs.corpus, options.limits, inputs.validation));
    }
    if (reference)
      trainer.setReference(*reference);
    HEDDLE_CHECK(trainer.run(observer));
    return Success();
  };
  auto last = [&](const char *name) -> Result<Manifest> {
    HEDDLE_ASSIGN(std::filesystem::path checkpoint, findCheckpoint(folder / name));
    return Manifest::read(checkpoint);
  };
  HEDDLE_CHECK(train("whole", false, options.steps));
  HEDDLE_CHECK(train("resumed", false, proof.interruptedAfter));
  HEDDLE_CHECK(train("resumed", true, options.steps));
  HEDDLE_ASSIGN(proof.whole, last("whole"));
  HEDDLE_ASSIGN(proof.resumed, last("resumed"));
  return proof;
}

} // namespace heddle
