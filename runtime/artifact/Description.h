// The model description inside an artifact, which the compiler writes and nobody else should; still it comes from a
// file. This is the only reader of it: every key has one type and one range, and what an artifact says of itself
// otherwise, such as the maxima of its sizes, bounds the description too.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

namespace schema {
struct Module; // runtime/schema/artifact.fbs
}

// How a GGUF file has a tensor of a Hugging Face folder.
struct GgufPlace {
  std::string name;
  // The number of heads whose rows are stored in pairs: rows that rotary positions turn together stand side by side,
  // where the folder has them half a head apart. 0: the rows are in the folder's order.
  int64_t pairedHeads = 0;
  double added = 0; // to each number
};

// Rows of a tensor as it is stored. The tensor has `groups` groups of `of` equal parts, and the weight has part `index`
// of each group. With one part a group, the weight has as many rows as it needs from `first` on.
struct ChosenRows {
  int64_t groups = 1, of = 1, index = 0;
  int64_t first = 0;
};

// Where the value of a weight lies in the files of a Hugging Face folder or in a GGUF file.
struct WeightOrigin {
  std::vector<std::string> names; // of the tensor in a folder: the first that is there
  Shape shape;                    // of the weight: one or two dimensions
  bool transpose = false;         // the tensor is stored the other way round
  bool leadingRows = false;       // the weight is the tensor's first rows
  int64_t part = 0, parts = 1;    // the weight is this part of the tensor's columns, which are cut into equal parts
  std::optional<ChosenRows> rows; // the weight has these rows of the tensor
  std::optional<GgufPlace> gguf;  // absent if GGUF files have no such model
};

// What is trained of a model whose own weights are frozen: beside the weight W of each target A and B of low rank,
// whose product times alpha / rank is added to W.
struct AdapterShape {
  int64_t rank = 0; // 0: there is no adapter
  double alpha = 0;
  double dropout = 0; // of what A reads, in training

  double scale() const { return alpha / double(rank); }
};

// Images that a model takes: rows of pixels, with so many numbers for each.
struct ImageShape {
  int64_t height = 0, width = 0, channels = 1;
  std::vector<int64_t>
      strides; // the model has images of every so many rows and columns of these, too; they divide both extents

  int64_t pixels() const { return height * width; }
};

struct Description {
  std::string architecture =
      "transformer"; // or "encoder", "decoder", "classifier", "tagger", or what a .mlir file says

  // Of these a Transformer has all, other models none.
  std::optional<int64_t> vocabularySize;
  std::optional<int64_t> maximumTokens, maximumSequences, maximumLength;
  std::optional<int64_t> width, heads, encoderLayers, decoderLayers; // width: d_model

  std::optional<int64_t> neighbours; // that a token has at most, where tokens are a graph's nodes
  std::optional<int64_t> sentences;  // that a text has at most, where the model tells them apart
  std::optional<ImageShape> image;   // that the model takes in the place of texts
  std::optional<int64_t> classes;    // labels, where the logits are of labels
  std::optional<int64_t> beginId, endId, paddingId;
  std::vector<int64_t> otherEnds; // tokens beside `endId` that end a text
  int64_t widestBeam = 1;
  int64_t tokenTypes = 0;
  bool endsSources = true; // whether the source of a translation ends with the end mark
  double lossScale = 0;    // 0: the loss is not scaled
  std::map<std::string, WeightOrigin, std::less<>> tensors;
  std::vector<std::string> ignoredTensors; // beginnings of names of a folder's tensors that the model has no use for
  AdapterShape adapter;

  nlohmann::json json; // all keys, of types and in ranges that were checked

  // Fails where a key has a value of a wrong type or out of its range. Keys that nobody knows are passed over.
  static Result<Description> parse(std::string_view text);

  // Fails where the description promises what the artifact does not have.
  Status check(const schema::Module &module) const;
};

} // namespace heddle
