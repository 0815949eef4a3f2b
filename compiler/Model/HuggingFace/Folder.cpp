#include "compiler/Model/HuggingFace/HuggingFace.h"

#include "compiler/Model/HuggingFace/Describe.h"
#include "compiler/Model/HuggingFace/Family.h"
#include "compiler/Model/HuggingFace/Names.h"
#include "compiler/Model/Language/Published.h"
#include "dialects/Heddle/VariableRoles.h"
#include "runtime/core/PublishedMeaning.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/WeightFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr StringLiteral kOwnArchitecture = "MarianMTModel";
constexpr int64_t kMostWidth = 65536, kMostLayers = 512, kMostTokens = 1 << 20, kMostVocabulary = 1 << 24;

/// Keys of any configuration that do not change a model's results: the program that wrote it, settings of generation
/// and of tasks, names for people.
constexpr StringRef kGeneralKeys[] = {"architectures",
                                      "auto_map",
                                      "model_type",
                                      "name_or_path",
                                      "transformers_version",
                                      "torch_dtype",
                                      "dtype",
                                      "use_cache",
                                      "output_attentions",
                                      "output_hidden_states",
                                      "output_past",
                                      "return_dict",
                                      "torchscript",
                                      "use_bfloat16",
                                      "gradient_checkpointing",
                                      "attn_implementation",
                                      "is_encoder_decoder",
                                      "task_specific_params",
                                      "id2label",
                                      "label2id",
                                      "num_labels",
                                      "problem_type",
                                      "finetuning_task",
                                      "tokenizer_class",
                                      "prefix",
                                      "pruned_heads",
                                      "chunk_size_feed_forward",
                                      "max_length",
                                      "min_length",
                                      "do_sample",
                                      "early_stopping",
                                      "num_beams",
                                      "num_beam_groups",
                                      "diversity_penalty",
                                      "temperature",
                                      "top_k",
                                      "top_p",
                                      "typical_p",
                                      "repetition_penalty",
                                      "length_penalty",
                                      "no_repeat_ngram_size",
                                      "encoder_no_repeat_ngram_size",
                                      "bad_words_ids",
                                      "num_return_sequences",
                                      "output_scores",
                                      "return_dict_in_generate",
                                      "forced_bos_token_id",
                                      "forced_eos_token_id",
                                      "remove_invalid_values",
                                      "exponential_decay_length_penalty",
                                      "suppress_tokens",
                                      "begin_suppress_tokens",
                                      "sep_token_id",
                                      "initializer_range",
                                      "init_std",
                                      "tf_legacy_loss",
                                      "classifier_dropout",
                                      "classif_dropout",
                                      "classifier_dropout_prob",
                                      "layer_norm",
                                      "directionality",
                                      "pooler_fc_size",
                                      "pooler_num_attention_heads",
                                      "pooler_num_fc_layers",
                                      "pooler_size_per_head",
                                      "pooler_type",
                                      "transformers.js_config",
                                      "max_sequence_length",
                                      "model_max_length",
                                      "tokenizer_model_max_length",
                                      "tokenizer_padding_side",
                                      "unk_token_id",
                                      "mask_token_id",
                                      "cls_token_id",
                                      "use_flash_attn",
                                      "use_flash_attention",
                                      "use_flash_attention_2",
                                      "num_logits_to_keep",
                                      "logits_to_keep",
                                      "neftune_noise_alpha",
                                      "base_model_name_or_path",
                                      "license"};

/// Keys that change nothing if they are false: features that a model may have and this model does not. `use_rope` is
/// not among them, because without it a model has no positions.
constexpr StringRef kHarmlessIfFalse[] = {
    "use_mrope",     "use_qk_norm", "qk_norm",      "qk_layernorm",  "rope_interleaved", "use_parallel_residual",
    "parallel_attn", "alibi",       "use_alibi",    "use_logn_attn", "use_dynamic_ntk",  "output_router_logits",
    "use_moe",       "multi_query", "load_in_8bit", "load_in_4bit",  "sandwich_norm",    "cross_attention"};

/// Reads a model's configuration into a description, and remembers from which of its keys each of our keys came.
class Reader {
public:
  Reader(HuggingFaceConfig &config, ArrayRef<std::string> ignoredKeys) : config(config), ignoredKeys(ignoredKeys) {}

  void readMarian();

  Description d;

private:
  /// Lets messages about our key `ours` point at the line of the key `theirs`.
  StringRef from(StringRef theirs, StringRef ours) {
    d.given[ours] = config.whereIs(theirs);
    return theirs;
  }

  int64_t width(StringRef theirs, StringRef ours) { return config.whole(from(theirs, ours), 1, kMostWidth); }
  int64_t layers(StringRef theirs, StringRef ours) { return config.whole(from(theirs, ours), 1, kMostLayers); }
  void readVocabulary() { d.vocabSize = config.whole(from("vocab_size", "vocab_size"), 4, kMostVocabulary); }
  void readActivation(StringRef theirs);
  void readDropout(StringRef theirs, StringRef ours, double &rate);
  void readLongest(StringRef theirs);
  void requireEqual(StringRef theirs, int64_t value, StringRef other);

  HuggingFaceConfig &config;
  ArrayRef<std::string> ignoredKeys;
};

} // namespace

void Reader::readActivation(StringRef theirs) {
  std::string name = config.text(from(theirs, "activation"));
  d.activation = llvm::StringSwitch<std::string>(name)
                     .Case("relu", "relu")
                     .Case("gelu", "gelu")
                     .Cases({"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}, "gelu-tanh")
                     .Cases({"swish", "silu"}, "swish")
                     .Default("");
  if (d.activation.empty() && !name.empty())
    config.fail(theirs) << "'" << theirs << "' is \"" << name << "\", and Heddle has the activations relu, "
                        << "gelu, gelu_new (gelu_fast, gelu_pytorch_tanh) and swish (silu)";
}

void Reader::readDropout(StringRef theirs, StringRef ours, double &rate) {
  rate = config.number(from(theirs, ours), 0.1);
  if (rate < 0 || rate >= 1)
    config.fail(theirs) << "'" << theirs << "' expects a rate from 0 to below 1";
}

/// Sequences are at most as long as the configuration says, and as a call.
void Reader::readLongest(StringRef theirs) {
  d.learnedCount = config.whole(theirs, 1, kMostTokens);
  d.maxLength = std::min(d.learnedCount, d.maxTokens);
}

void Reader::requireEqual(StringRef theirs, int64_t value, StringRef other) {
  if (int64_t own = config.whole(theirs, 1, kMostVocabulary, value); own != value)
    config.fail(theirs) << "'" << theirs << "' is " << own << " and '" << other << "' " << value
                        << "; Heddle takes models in which both are the same";
}

/// The paper's encoder and decoder, with sines and cosines in separate halves.
void Reader::readMarian() {
  d.architecture = "transformer";
  d.dModel = width("d_model", "d_model");
  d.heads = width("encoder_attention_heads", "heads");
  requireEqual("decoder_attention_heads", d.heads, "encoder_attention_heads");
  d.dFF = width("encoder_ffn_dim", "d_ff");
  requireEqual("decoder_ffn_dim", d.dFF, "encoder_ffn_dim");
  d.encoderLayers = layers("encoder_layers", "encoder_layers");
  d.decoderLayers = layers("decoder_layers", "decoder_layers");
  readVocabulary();
  requireEqual("decoder_vocab_size", d.vocabSize, "vocab_size");
  readActivation("activation_function");
  readLongest("max_position_embeddings");
  readDropout("dropout", "dropout", d.dropout);
  readDropout("attention_dropout", "attention_dropout", d.attentionDropout);
  d.positions = "sinusoidal-halves";
  d.scaleEmbeddings = config.flag(from("scale_embedding", "scale_embeddings"), false);
  bool tied = config.flag(from("tie_word_embeddings", "share_embeddings"), true);
  d.shareEmbeddings = config.flag("share_encoder_decoder_embeddings", true) && tied;
  d.outputBias = true;

  int64_t last = d.vocabSize - 1;
  d.beginId = config.whole("decoder_start_token_id", 0, last);
  SmallVector<int64_t> ends = config.wholes("eos_token_id", 0, last);
  if (ends.size() == 1)
    d.endId = ends.front();
  else if (!config.hasFailed())
    config.fail("eos_token_id") << "'eos_token_id' names " << ends.size()
                                << " tokens, and a sentence of a MarianMTModel "
                                << "has one end mark; name this one";
  d.paddingId = config.whole("pad_token_id", 0, last);
  d.unknownId.reset(); // the vocabulary knows it

  config.require("normalize_before", false, "a MarianMTModel normalises after each sub-layer; convert the model anew");
  config.require("normalize_embedding", false,
                 "a MarianMTModel has no norm after its embeddings; convert the model anew");
  config.require("layernorm_embedding", false,
                 "a MarianMTModel has no norm after its embeddings; convert the model anew");
  config.require("add_final_layer_norm", false, "a MarianMTModel has no norm after its layers; convert the model anew");
  config.require("static_position_embeddings", true,
                 "a MarianMTModel's positions are sinusoids; convert the model anew");
  config.notInTraining("activation_dropout", 0);
  config.notInTraining("encoder_layerdrop", 0);
  config.notInTraining("decoder_layerdrop", 0);
  // Features that every MarianMTModel has, or keys that it never reads.
  config.ignore({"num_hidden_layers", "hidden_size", "num_attention_heads", "add_bias_logits", "extra_pos_embeddings",
                 "bos_token_id", "force_bos_token_to_be_generated", "normalize_logits"});
}

/// Says which architectures Heddle takes: how many, and one with nearly the same name.
static std::string describeArchitectures(StringRef name) {
  std::vector<std::string> all = language::listArchitectures(/*isGguf=*/false);
  all.push_back(kOwnArchitecture.str());
  constexpr size_t mostEdits = 2;
  auto distance = [&](StringRef other) { return name.edit_distance(other); };
  const std::string &nearest = *std::ranges::min_element(all, {}, distance);
  return llvm::formatv("{0} others (docs/published-models.md){1}", all.size(),
                       distance(nearest) > mostEdits ? "" : ", such as " + nearest);
}

/// Returns the text that says how models of the architecture are published: the given text, or one of Heddle's own.
static FailureOr<std::optional<language::ModelText>> findText(HuggingFaceConfig &config, StringRef architecture,
                                                              const DescriptionChanges &changes, bool isGguf) {
  MLIRContext *context = config.getContext();
  if (changes.family.empty())
    return language::findFamily(context, architecture, isGguf);
  FailureOr<language::ModelText> text = readModelText(context, changes.family);
  if (failed(text))
    return failure();
  SmallVector<std::string> names;
  for (const language::PublishedSection &section : text->getPublishedSections()) {
    if (isGguf && section.gguf)
      names.push_back(section.gguf->text);
    for (const language::Name &name : section.architectures)
      if (!isGguf)
        names.push_back(name.text);
  }
  std::optional<language::ModelText> own;
  if (llvm::is_contained(names, architecture)) {
    own.emplace(std::move(*text));
    return own;
  }
  return emitError(UnknownLoc::get(context))
         << "--family=" << changes.family << ": the text is of "
         << (names.empty()
                 ? "no published architecture; it needs a section `published \"" + architecture.str() + "\" {...}`"
                 : "the architectures " + llvm::join(names, ", ") + ", and the model is a " + architecture.str());
}

/// Enters the configuration of the text model, if the whole model has other parts beside it.
static void enterText(HuggingFaceConfig &config) {
  std::optional<HuggingFaceConfig> inner = config.nested("text_config");
  if (!inner)
    return;
  for (StringRef key : {"architectures", "bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings"})
    inner->adopt(config, key);
  config = std::move(*inner);
}

FailureOr<Description> mlir::heddle::describeModel(HuggingFaceConfig &config, const DescriptionChanges &changes,
                                                   const GgufContents *gguf) {
  MLIRContext *context = config.getContext();
  std::vector<std::string> architectures = config.list("architectures");
  if (!changes.architecture.empty() && !gguf)
    architectures = {changes.architecture};
  if (config.hasFailed())
    return failure();
  if (architectures.size() != 1)
    return config.fail("architectures") << "'architectures' names " << architectures.size()
                                        << " models and should name a single one (docs/published-models.md)";

  if (std::optional<HuggingFaceConfig> packed = config.nested("quantization_config")) {
    std::string method = packed->text("quant_method", "an unknown method");
    if (method != "mxfp4")
      return config.fail("quantization_config")
             << "'quantization_config' says that the weights are packed by " << method
             << ", which Heddle does not read; take the folder with the weights in 32 or 16 bits and compile it with "
                "--weights=int4 or int8, or take a GGUF file of the model";
  }
  Reader reader(config, changes.ignoredKeys);
  reader.d.start = config.whereIs("architectures");
  const std::string &name = architectures.front();
  FailureOr<std::optional<language::ModelText>> text = findText(config, name, changes, gguf != nullptr);
  if (failed(text))
    return failure();
  if (*text) {
    enterText(config);
    FailureOr<Description> described = describeFamily(std::move(**text), name, config, changes, gguf);
    if (failed(described))
      return failure(); // keys that the text has not reached are not unknown
    reader.d = std::move(*described);
  } else if (name == kOwnArchitecture) {
    reader.readMarian();
  } else {
    return config.fail("architectures") << "'" << name
                                        << "' is an architecture that Heddle cannot import; Heddle takes "
                                        << describeArchitectures(name) << "; --family=TEXT.weft teaches it another";
  }
  for (StringRef key : {"is_decoder", "add_cross_attention", "tie_encoder_decoder"})
    config.require(key, false, "Heddle takes encoders as encoders and decoders as decoders; convert the model anew");
  config.ignore(kGeneralKeys);
  config.ignoreFalse(kHarmlessIfFalse);
  config.ignorePrefix("unsloth_");
  config.rejectOthers(changes.ignoredKeys);
  if (config.hasFailed())
    return failure();
  FailureOr<Description> description = overrideDescription(context, std::move(reader.d), changes);
  if (failed(description))
    return failure();
  if (description->learnedPositions() && description->maxLength > description->learnedCount)
    return emitError(UnknownLoc::get(context))
           << "--set max_length=" << description->maxLength << " is more than the " << description->learnedCount
           << " positions that the published model has learned";
  if (description->longestPublished > 0 && description->maxLength > description->longestPublished)
    return emitError(UnknownLoc::get(context))
           << "--set max_length=" << description->maxLength << " is more than " << description->longestPublished
           << " tokens, beyond which this model's rotary positions "
           << "(\"dynamic\") change with the length of each sequence; Heddle has them up to there";
  if (!description->family)
    description->tensors = nameMarianTensors(*description);
  return description;
}

void mlir::heddle::addPublishedMeaning(const HuggingFaceConfig &config, Description &description) {
  std::string text = llvm::formatv("{0}", llvm::json::Value(llvm::json::Object(config.getObject())));
  nlohmann::json read = nlohmann::json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (read.is_discarded())
    return; // a number is outside the range of a double
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(::heddle::publishedMeaning(read).dump());
  if (!value)
    return llvm::consumeError(value.takeError());
  if (llvm::json::Object *object = value->getAsObject())
    description.published = std::move(*object);
}

/// Adds the ends of a text that generation_config.json names, if the folder has that file. Ids beyond the vocabulary
/// are never generated.
static LogicalResult addGenerationEnds(MLIRContext *context, StringRef folder, Description &description) {
  std::string path = (folder + "/generation_config.json").str();
  if (!llvm::sys::fs::exists(path))
    return success();
  FailureOr<HuggingFaceConfig> config = HuggingFaceConfig::read(context, path);
  if (failed(config))
    return failure();
  for (int64_t end : config->wholes("eos_token_id", 0, kMostVocabulary))
    if (end != description.endId && end < description.vocabSize && !llvm::is_contained(description.otherEnds, end))
      description.otherEnds.push_back(end);
  return failure(config->hasFailed());
}

/// Returns the types of the tensors in the safetensors of the folder: "F16", "BF16" or, for any other type, "". A name with
/// `*` in place of a number stands for all tensors with a number there, such as those of experts. Loading the weights
/// reports files that are missing or cannot be read.
static llvm::StringMap<StringRef> findTypes(const std::filesystem::path &folder) {
  using Stored = ::heddle::SafetensorsEntry::Stored;
  llvm::StringMap<StringRef> types;
  auto files = ::heddle::findWeightFiles(folder);
  if (!files.ok())
    return types;
  for (const std::filesystem::path &file : *files) {
    auto reader = ::heddle::SafetensorsReader::open(file, ::heddle::OtherTypes::PassOver);
    if (!reader.ok())
      continue;
    for (const ::heddle::SafetensorsEntry &entry : reader->entries()) {
      StringRef type = entry.stored == Stored::BF16 ? "BF16" : entry.stored == Stored::F16 ? "F16" : "";
      types[entry.name] = type;
      auto parts = llvm::to_vector(llvm::split(entry.name, '.'));
      for (StringRef &part : parts)
        if (!part.empty() && llvm::all_of(part, llvm::isDigit)) {
          llvm::SaveAndRestore star(part, StringRef("*"));
          auto [all, isFirst] = types.try_emplace(llvm::join(parts, "."), type);
          if (!isFirst && all->second != type)
            all->second = "";
        }
    }
  }
  return types;
}

/// Names the type of the weights that the folder has in MXFP4 or in 16 bits. `tensorsOf` has the names of a weight's
/// tensor. The first that the folder has is the one that is loaded.
static void nameStoredTypes(ModuleOp module, StringRef configPath, bool hasPacked,
                            const llvm::StringMap<SmallVector<std::string>> &tensorsOf) {
  llvm::StringMap<StringRef> types = findTypes(std::filesystem::path(configPath.str()).parent_path());
  for (auto variable : module.getOps<VariableOp>()) {
    auto tensors = tensorsOf.find(variable.getSymName());
    if (tensors == tensorsOf.end() || tensors->second.empty())
      continue;
    const auto *loaded = llvm::find_if(tensors->second, [&](const std::string &name) { return types.contains(name); });
    StringRef type = loaded != tensors->second.end() ? types.lookup(*loaded) : StringRef();
    if (hasPacked) {
      ::heddle::Result<bool> isPacked = isInFolder(configPath, tensors->second.front() + "_blocks");
      if (isPacked.ok() && *isPacked)
        type = "MXFP4";
    }
    if (!type.empty())
      variable->setAttr(kStoredInFolderAttrName, StringAttr::get(module.getContext(), type));
  }
}

OwningOpRef<ModuleOp> mlir::heddle::importHuggingFace(MLIRContext *context, StringRef folder,
                                                      const DescriptionChanges &changes) {
  FailureOr<HuggingFaceConfig> config = HuggingFaceConfig::read(context, (folder + "/config.json").str());
  FailureOr<Description> description =
      failed(config) ? FailureOr<Description>(failure()) : describeModel(*config, changes, /*gguf=*/nullptr);
  if (failed(description))
    return nullptr;
  if (description->architecture == "decoder" && failed(addGenerationEnds(context, folder, *description)))
    return nullptr;
  addPublishedMeaning(*config, *description);
  llvm::StringMap<SmallVector<std::string>> tensorsOf;
  OwningOpRef<ModuleOp> module = importModel(context, std::move(description), [&](const Description &complete) {
    for (const auto &[weight, origin] : complete.tensors)
      for (const llvm::json::Value &tensor : *origin.getAsObject()->getArray("from"))
        tensorsOf[weight].push_back(tensor.getAsString()->str());
    return success();
  });
  if (module)
    nameStoredTypes(*module, config->getPath(), config->getObject().get("quantization_config") != nullptr, tensorsOf);
  return module;
}
