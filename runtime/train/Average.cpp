#include "runtime/train/Average.h"

#include "runtime/core/Safetensors.h"
#include "runtime/session/Session.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/FolderSync.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPortion = 1 << 20; // elements

// Means are stored as f32, even if the checkpoints store bf16.
std::vector<SafetensorsEntry> inF32(std::vector<SafetensorsEntry> entries) {
  for (SafetensorsEntry &entry : entries)
    entry.stored = SafetensorsEntry::Stored::AsIs;
  return entries;
}

Status writeMean(const std::vector<SafetensorsReader> &readers, std::span<const double> weights, const fs::path &path) {
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, inF32(readers.front().entries())));
  double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> sums(kPortion);
  std::vector<float> values(kPortion);
  for (const SafetensorsEntry &entry : readers.front().entries()) {
    if (entry.type != ElementType::F32)
      return makeError(ErrorKind::Unsupported, "'", entry.name, "' of '", readers.front().path().string(),
                       "' is not of f32: checkpoints have no mean of it.");
    uint64_t count = entry.bytes / sizeof(float);
    for (uint64_t at = 0; at < count; at += kPortion) {
      size_t size = std::min<uint64_t>(kPortion, count - at);
      std::fill_n(sums.begin(), size, 0.0);
      auto portion = std::span(values).first(size);
      for (size_t i = 0; i < readers.size(); ++i) {
        const SafetensorsEntry *same = readers[i].find(entry.name);
        if (!same || same->type != entry.type || same->shape != entry.shape)
          return makeError(ErrorKind::InvalidArgument, "'", entry.name, "' is not alike in '",
                           readers.front().path().string(), "' and '", readers[i].path().string(), "'.");
        HEDDLE_CHECK(readers[i].read(*same, at * sizeof(float), std::as_writable_bytes(portion)));
        for (size_t j = 0; j < size; ++j)
          sums[j] += weights[i] * double(portion[j]);
      }
      for (size_t j = 0; j < size; ++j)
        portion[j] = float(sums[j] / all);
      HEDDLE_CHECK(writer.write(std::as_bytes(portion)));
    }
  }
  return writer.commit();
}

// Writes the tensor with this role in `from` for each of `entries`, times a factor, under the entry's name.
Status writeScaled(const SafetensorsReader &from, VariableRole role, const std::vector<SafetensorsEntry> &entries,
                   double factor, const fs::path &path) {
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, inF32(entries)));
  std::vector<float> values(kPortion);
  for (const SafetensorsEntry &entry : entries) {
    std::string name = variableName(role, entry.name);
    const SafetensorsEntry *source = from.find(name);
    if (!source || source->type != ElementType::F32 || source->shape != entry.shape)
      return makeError(ErrorKind::Malformed, "'", from.path().string(), "' has no '", name, "' of the weight's shape.");
    uint64_t count = entry.bytes / sizeof(float);
    for (uint64_t at = 0; at < count; at += kPortion) {
      auto portion = std::span(values).first(std::min<uint64_t>(kPortion, count - at));
      HEDDLE_CHECK(from.read(*source, at * sizeof(float), std::as_writable_bytes(portion)));
      for (float &value : portion)
        value = float(double(value) * factor);
      HEDDLE_CHECK(writer.write(std::as_bytes(portion)));
    }
  }
  return writer.commit();
}

} // namespace

Status extractAverage(const fs::path &checkpoint, const fs::path &output) {
  HEDDLE_CHECK(checkOutput(output));
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(checkpoint));
  auto decay = manifest.description.find("ema_decay");
  if (decay == manifest.description.end() || !decay->is_number() || !(decay->get<double>() > 0))
    return makeError(
        ErrorKind::InvalidArgument, "'", checkpoint.string(),
        "' has no average over its steps: the model was compiled without an average. Compile it with --set "
        "ema_decay=0.999, or average checkpoints with --last.");
  for (const char *name : {kWeightsFile, kOptimizerFile})
    HEDDLE_CHECK(checkFile(checkpoint, name, manifest));
  HEDDLE_ASSIGN(SafetensorsReader weights, SafetensorsReader::open(checkpoint / kWeightsFile));
  HEDDLE_ASSIGN(SafetensorsReader optimizer, SafetensorsReader::open(checkpoint / kOptimizerFile));
  auto count = [&](VariableRole role) -> Result<int64_t> {
    std::string name = variableName(role);
    HEDDLE_ASSIGN(HostTensor tensor, optimizer.read(name));
    if (tensor.type() != ElementType::I32 || tensor.bytes().size() != sizeof(int32_t))
      return makeError(ErrorKind::Malformed, "'", optimizer.path().string(), "' has no number '", name, "'.");
    return tensor.values<int32_t>()[0];
  };
  HEDDLE_ASSIGN(int64_t steps, count(VariableRole::Steps));
  if (optimizer.find(variableName(VariableRole::SkippedSteps))) {
    HEDDLE_ASSIGN(int64_t skipped, count(VariableRole::SkippedSteps));
    steps -= skipped;
  }
  if (steps <= 0)
    return makeError(ErrorKind::InvalidArgument, "'", checkpoint.string(),
                     "' has taken no step yet, so it has no average.");
  // The sum of all steps' shares; it is below 1 because averages start at zero. The kernels use the decay in single
  // precision.
  double all = 1 - std::pow(double(float(decay->get<double>())), double(steps));
  manifest.averaged.clear();
  manifest.averagedSteps = uint64_t(steps);
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> vocabulary, loadCheckpointVocabulary(checkpoint));
  const char *const files[] = {kWeightsFile};
  auto write = [&](const fs::path &into) -> Status {
    HEDDLE_CHECK(writeScaled(optimizer, VariableRole::Average, weights.entries(), 1 / all, into / kWeightsFile));
    return writePeftFiles(into, manifest);
  };
  return writeCheckpoint(plainPath(output), files, write, *vocabulary, manifest);
}

Status averageCheckpoints(std::span<const fs::path> checkpoints, std::span<const double> weights,
                          const fs::path &output) {
  HEDDLE_CHECK(checkOutput(output));
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(checkpoints.back()));
  manifest.averaged.clear();
  std::vector<SafetensorsReader> readers;
  for (const fs::path &checkpoint : checkpoints) {
    HEDDLE_ASSIGN(Manifest other, Manifest::read(checkpoint));
    if (auto different = differences(other.description, manifest.description, /*functionOnly=*/true);
        !different.empty())
      return makeError(ErrorKind::InvalidArgument, "'", checkpoint.string(), "' and '", checkpoints.back().string(),
                       "' are of different models: ", different.front(), ".");
    if (vocabularyFiles(other) != vocabularyFiles(manifest))
      return makeError(ErrorKind::InvalidArgument, "'", checkpoint.string(), "' and '", checkpoints.back().string(),
                       "' have different vocabularies.");
    HEDDLE_CHECK(checkFile(checkpoint, kWeightsFile, other));
    HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(checkpoint / kWeightsFile));
    readers.push_back(std::move(reader));
    manifest.averaged.push_back(other.step);
  }
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> vocabulary, loadCheckpointVocabulary(checkpoints.back()));
  const char *const files[] = {kWeightsFile};
  auto write = [&](const fs::path &into) -> Status {
    HEDDLE_CHECK(writeMean(readers, weights, into / kWeightsFile));
    return writePeftFiles(into, manifest);
  };
  return writeCheckpoint(plainPath(output), files, write, *vocabulary, manifest);
}

std::vector<double> decayingWeights(size_t count, double decay) {
  std::vector<double> weights(count, 1.0);
  for (size_t i = count; i-- > 1;)
    weights[i - 1] = weights[i] * decay;
  return weights;
}

} // namespace heddle
