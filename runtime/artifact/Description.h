// The model description inside an artifact. Only the compiler writes it, but it comes from a file and is not trusted.
// All code reads it through this class, which checks the type and range of every key, and that the description agrees
// with the rest of the artifact, such as the maxima of its sizes.
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

// Rows of a stored tensor. The tensor has `groups` groups of `of` equal parts, and the weight has `count` parts of each
// group, from part `index` on. With one part per group, the weight has as many rows as it needs, from row `first` on.
struct ChosenRows {
  int64_t groups = 1, of = 1, index = 0, count = 1;
  int64_t first = 0;
};

// How a GGUF file stores a weight of a Hugging Face folder.
struct GgufPlace {
  std::string name;
  std::optional<ChosenRows> rows; // the weight has these rows of the tensor
  // The number of heads whose rows are stored in pairs: the two rows that rotary positions rotate together are adjacent
  // in the GGUF file, and half a head apart in the folder. 0: the rows are in the folder's order.
  int64_t pairedHeads = 0;
  double added = 0;       // the GGUF file's numbers are larger by this constant
  bool transpose = false; // the tensor is stored transposed, even if the folder's is not
  int64_t matrices = 1;   // transposed, it is this many matrices, each of them transposed by itself
  int64_t beside = 0;     // above 0: it is this many matrices, one below the other, which the weight has side by side
};

// The place of a weight's value in the files of a Hugging Face folder or in a GGUF file.
struct WeightOrigin {
  std::vector<std::string> names; // of the tensor in a folder; the first name that exists counts
  Shape shape;                    // of the weight: one or two dimensions
  bool transpose = false;         // the tensor is stored transposed
  bool leadingRows = false;       // the weight is the tensor's first rows after `skippedRows`; a vector is one row
  int64_t part = 0, parts = 1;    // the weight is this part of the tensor's columns, which are cut into equal parts
  bool isInterleaved = false;     // a part is every `parts`-th column
  std::optional<ChosenRows> rows; // the weight has these rows of the tensor
  int64_t skippedRows = 0;
  bool isOfHead = false; // files of a model without this head may lack the tensor
  bool isFlat = false;   // the weight is a vector of the tensor's columns, one after another
  // Above 0, the tensor is divided by rows among this many tensors of equal shapes. A `*` in `names` stands for their
  // numbers, which begin with 0.
  int64_t stacked = 0;
  // The weight is this many matrices, one below the other. If it is transposed, each of them is transposed by itself.
  int64_t matrices = 1;
  int64_t beside = 0;            // above 0: the tensor has this many parts of the weight's columns, one below the other
  std::optional<GgufPlace> gguf; // absent if there are no GGUF files of such models

  // Returns the names of tensor number `index` of a stack.
  std::vector<std::string> namesInStack(int64_t index) const;
  // Returns the origin of a stack's matrix number `index` by itself.
  WeightOrigin inStack(int64_t index) const;
  // Returns the origin of the weight in a GGUF file, if `gguf` is set. A tensor that is transposed in the folder is
  // transposed in the file, too.
  WeightOrigin inGguf() const;
};

// Puts the number into the name of a tensor in a stack; other names stay as they are.
std::string nameInStack(std::string name, int64_t index);

// A low-rank adapter (LoRA) of a model with frozen weights. For the weight W of each target, matrices A and B of low
// rank are trained, and A B alpha / rank is added to W.
struct AdapterShape {
  int64_t rank = 0; // 0: there is no adapter
  double alpha = 0;
  double dropout = 0; // of A's input, in training

  double scale() const { return alpha / double(rank); }
};

// The images that a model takes: rows of pixels, with `channels` numbers each.
struct ImageShape {
  int64_t height = 0, width = 0, channels = 1;

  int64_t pixels() const { return height * width; }
};

struct Description {
  // "transformer", "encoder", "decoder", "classifier", "tagger", or any other text from a .mlir file.
  std::string architecture = "transformer";

  // A number is 0 if the description does not have it. A Transformer has the first four.
  int64_t vocabularySize = 0;
  int64_t maximumTokens = 0;    // per side and call
  int64_t maximumSequences = 0; // per call
  int64_t maximumLength = 0;    // of one sequence, including its mark
  int64_t cacheRows = 0;        // of the self-attention caches: tokens of all sequences together
  int64_t width = 0, heads = 0, encoderLayers = 0, decoderLayers = 0; // width: d_model
  int64_t neighbours = 0; // the most neighbours of a token, if tokens are the nodes of a graph
  int64_t sentences = 0;  // the most sentences of a text, if the model tells them apart
  ImageShape image;       // without pixels: the model takes texts
  int64_t classes = 0;    // the number of labels, if the logits are those of labels
  std::optional<int64_t> beginId, endId, paddingId; // padding is never chosen as output
  std::vector<int32_t> otherEnds;                   // tokens besides `endId` that end a text
  // The widest beam that `beam_step` was compiled for.
  int64_t widestBeam = 1;
  int64_t tokenTypes = 0;
  bool endsSources = true; // the source of a translation ends with the end token
  double lossScale = 0;    // 0: the loss is not scaled
  std::map<std::string, WeightOrigin, std::less<>> tensors;
  std::vector<std::string> ignoredTensors; // prefixes of names of tensors that the model does not use
  AdapterShape adapter;

  nlohmann::json json; // all keys; the types and ranges of known keys are checked

  // Fails if a key's value has a wrong type or is out of range. Unknown keys are ignored.
  static Result<Description> parse(std::string_view text);

  // Fails if the description does not agree with the artifact.
  Status check(const schema::Module &module) const;
};

} // namespace heddle
