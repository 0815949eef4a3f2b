#include "tools/heddle-run/model/Average.h"

#include "runtime/core/Safetensors.h"
#include "tools/heddle-run/model/Checkpoint.h"
#include "tools/heddle-run/model/FolderSync.h"

#include <algorithm>
#include <numeric>

namespace heddle::run {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPortion = 1 << 20; // elements

Status writeMean(const std::vector<SafetensorsReader> &readers, std::span<const double> weights, const fs::path &path) {
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, readers.front().entries()));
  double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> sums(kPortion);
  std::vector<float> values(kPortion);
  for (const SafetensorsEntry &entry : readers.front().entries()) {
    if (entry.type != ElementType::F32)
      return makeError(ErrorKind::Unsupported, "'", entry.name, "' of '", readers.front().path().string(),
                       "' holds no f32: there is no mean of it.");
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

} // namespace

Status averageCheckpoints(std::span<const fs::path> checkpoints, std::span<const double> weights,
                          const fs::path &output) {
  std::error_code error;
  fs::path place = plainPath(output);
  if (fs::exists(place, error))
    return makeError(ErrorKind::InvalidArgument, "'", output.string(), "' is there already; give a new name.");
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(checkpoints.back()));
  manifest.averaged.clear();
  std::vector<SafetensorsReader> readers;
  for (const fs::path &checkpoint : checkpoints) {
    HEDDLE_ASSIGN(Manifest other, Manifest::read(checkpoint));
    if (auto different = differences(other.description, manifest.description, /*functionOnly=*/true);
        !different.empty())
      return makeError(ErrorKind::InvalidArgument, "'", checkpoint.string(), "' and '", checkpoints.back().string(),
                       "' are of different models: ", different.front(), ".");
    if (other.files["spm.model"] != manifest.files["spm.model"])
      return makeError(ErrorKind::InvalidArgument, "'", checkpoint.string(), "' and '", checkpoints.back().string(),
                       "' have different vocabularies.");
    HEDDLE_CHECK(checkFile(checkpoint, kWeightsFile, other));
    HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(checkpoint / kWeightsFile));
    readers.push_back(std::move(reader));
    manifest.averaged.push_back(other.step);
  }
  HEDDLE_ASSIGN(Tokenizer tokenizer, loadTokenizer(checkpoints.back()));
  const char *const files[] = {kWeightsFile};
  return writeCheckpoint(
      place, files, [&](const fs::path &into) { return writeMean(readers, weights, into / kWeightsFile); }, tokenizer,
      manifest);
}

std::vector<double> decayingWeights(size_t count, double decay) {
  std::vector<double> weights(count, 1.0);
  for (size_t i = count; i-- > 1;)
    weights[i - 1] = weights[i] * decay;
  return weights;
}

} // namespace heddle::run
