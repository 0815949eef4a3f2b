#include "compiler/Model/HuggingFace/Names.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Collects the tensors of one model. `base` is the prefix that a model with a head puts before the names of the model
/// without a head. Files may have names with it or without it.
class Names {
public:
  explicit Names(StringRef base) : base(base) {}

  llvm::json::Object take() { return std::move(tensors); }

  /// Says that the weight `ours` is the tensor with one of the given names.
  llvm::json::Object &add(const Twine &ours, ArrayRef<std::string> names) {
    llvm::json::Array from;
    for (const std::string &name : names)
      from.push_back(name);
    llvm::json::Object &entry = *tensors.try_emplace(ours.str(), llvm::json::Object()).first->second.getAsObject();
    entry["from"] = std::move(from);
    return entry;
  }

  llvm::json::Object &addInBase(const Twine &ours, const Twine &name) {
    return add(ours, {(base + name).str(), name.str()});
  }

  /// A linear transformation as PyTorch's nn.Linear stores it, outputs x inputs.
  void addLinear(const Twine &ours, const Twine &name) {
    addInBase(ours + ".weight", name + ".weight")["transpose"] = true;
    addInBase(ours + ".bias", name + ".bias");
  }

  /// Gains and biases of a norm. Checkpoints from TensorFlow call them gamma and beta.
  void addNorm(const Twine &ours, const Twine &name) {
    add(ours + ".gamma", bothWays(name, ".weight", ".gamma"));
    add(ours + ".beta", bothWays(name, ".bias", ".beta"));
  }

private:
  SmallVector<std::string> bothWays(const Twine &name, StringRef now, StringRef once) const {
    std::string plain = name.str(), based = (base + plain).str();
    return {based + now.str(), based + once.str(), plain + now.str(), plain + once.str()};
  }

  StringRef base;
  llvm::json::Object tensors;
};

} // namespace

llvm::json::Object mlir::heddle::nameMarianTensors(const Description &d) {
  Names names("model.");
  std::string shared = "model.shared.weight", source = "model.encoder.embed_tokens.weight",
              target = "model.decoder.embed_tokens.weight", projection = "lm_head.weight";
  if (d.shareEmbeddings) {
    names.add("embedding", {shared, source, target, projection});
  } else {
    names.add("source_embedding", {source, shared});
    names.add("target_embedding", {target, shared});
    names.add("projection", {projection, target, shared});
  }
  names.add("output.bias", {"final_logits_bias"});

  auto addAttention = [&](const Twine &ours, const Twine &name) {
    names.addLinear(ours + ".query", name + ".q_proj");
    names.addLinear(ours + ".key", name + ".k_proj");
    names.addLinear(ours + ".value", name + ".v_proj");
    names.addLinear(ours + ".output", name + ".out_proj");
  };
  auto addLayers = [&](const std::string &stack, int64_t layers, bool cross) {
    for (int64_t i = 0; i < layers; ++i) {
      std::string ours = (stack + "." + Twine(i)).str(), layer = (stack + ".layers." + Twine(i)).str();
      addAttention(ours + ".self", layer + ".self_attn");
      names.addNorm(ours + ".norm1", layer + ".self_attn_layer_norm");
      if (cross) {
        addAttention(ours + ".cross", layer + ".encoder_attn");
        names.addNorm(ours + ".norm2", layer + ".encoder_attn_layer_norm");
      }
      names.addLinear(ours + ".feed_forward.inner", layer + ".fc1");
      names.addLinear(ours + ".feed_forward.outer", layer + ".fc2");
      names.addNorm(ours + (cross ? ".norm3" : ".norm2"), layer + ".final_layer_norm");
    }
  };
  addLayers("encoder", d.encoderLayers, /*cross=*/false);
  addLayers("decoder", d.decoderLayers, /*cross=*/true);
  return names.take();
}
