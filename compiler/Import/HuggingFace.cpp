#include "compiler/Import/HuggingFace.h"

#include "compiler/Import/HuggingFaceConfig.h"
#include "compiler/Import/HuggingFaceNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kMostWidth = 65536, kMostLayers = 512, kMostTokens = 1 << 20, kMostVocabulary = 1 << 24;

/// Keys of every configuration that do not change what a model computes: the program that wrote it, settings of
/// generation and of tasks, names for people.
constexpr StringRef kGeneralKeys[] = {"architectures",
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
                                      "pooler_type"};

/// Reads one model's configuration into a description and remembers which key of it each key of ours came from.
class Reader {
public:
  Reader(HuggingFaceConfig &config) : config(config) {}

  void readMarian();
  void readBert(bool maskedLM);
  void readGPT2();

  Description d;
  int64_t longest = 0; // of a sequence, in the model as published

private:
  /// What is said of our key `ours` points at the line of theirs.
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

/// Sequences are no longer than the configuration says, and no longer than a call.
void Reader::readLongest(StringRef theirs) {
  longest = config.whole(theirs, 1, kMostTokens);
  d.maxLength = std::min(longest, d.maxTokens);
}

void Reader::requireEqual(StringRef theirs, int64_t value, StringRef other) {
  if (int64_t own = config.whole(theirs, 1, kMostVocabulary, value); own != value)
    config.fail(theirs) << "'" << theirs << "' is " << own << " and '" << other << "' " << value
                        << "; Heddle takes models in which both are the same";
}

/// The paper's encoder and decoder, with sines and cosines in two halves.
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
  d.endId = config.whole("eos_token_id", 0, last);
  d.paddingId = config.whole("pad_token_id", 0, last);
  d.unknownId.reset(); // the vocabulary's to say

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
  // What a MarianMTModel has in any case, or never looks at.
  config.ignore({"num_hidden_layers", "hidden_size", "num_attention_heads", "add_bias_logits", "extra_pos_embeddings",
                 "bos_token_id", "force_bos_token_to_be_generated", "normalize_logits"});
}

/// An encoder alone.
void Reader::readBert(bool maskedLM) {
  d.architecture = "encoder";
  d.dModel = width("hidden_size", "d_model");
  d.heads = width("num_attention_heads", "heads");
  d.dFF = width("intermediate_size", "d_ff");
  d.encoderLayers = layers("num_hidden_layers", "encoder_layers");
  readVocabulary();
  readActivation("hidden_act");
  readLongest("max_position_embeddings");
  readDropout("hidden_dropout_prob", "dropout", d.dropout);
  readDropout("attention_probs_dropout_prob", "attention_dropout", d.attentionDropout);
  d.tokenTypes = config.whole(from("type_vocab_size", "token_types"), 1, kMostWidth, 2);
  d.layerNormEpsilon = config.number(from("layer_norm_eps", "layer_norm_epsilon"), 1e-12);
  d.positions = "learned";
  d.scaleEmbeddings = false;
  d.embeddingNorm = true;
  d.head = maskedLM ? "transform" : "none";
  d.outputBias = maskedLM;
  d.shareEmbeddings = config.flag(from("tie_word_embeddings", "share_embeddings"), true);

  config.require("position_embedding_type", "absolute", "Heddle has absolute positions only");
  config.ignore(
      {"pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "cross_attention_hidden_size"});
}

/// A decoder alone.
void Reader::readGPT2() {
  d.architecture = "decoder";
  d.norm = "pre";
  d.dModel = width("n_embd", "d_model");
  d.heads = width("n_head", "heads");
  d.dFF = config.whole(from("n_inner", "d_ff"), 1, kMostWidth, 4 * d.dModel);
  d.decoderLayers = layers("n_layer", "decoder_layers");
  readVocabulary();
  readActivation("activation_function");
  readLongest("n_positions");
  readDropout("resid_pdrop", "dropout", d.dropout);
  readDropout("attn_pdrop", "attention_dropout", d.attentionDropout);
  d.layerNormEpsilon = config.number(from("layer_norm_epsilon", "layer_norm_epsilon"), 1e-5);
  d.labelSmoothing = 0;
  d.positions = "learned";
  d.scaleEmbeddings = false;
  d.shareEmbeddings = config.flag(from("tie_word_embeddings", "share_embeddings"), true);

  int64_t last = d.vocabSize - 1;
  d.beginId = config.whole("bos_token_id", 0, last, last);
  d.endId = config.whole("eos_token_id", 0, last, last);
  d.unknownId.reset(); // no byte is unknown

  config.require("scale_attn_weights", true, "Heddle divides scores by the root of a head's width always");
  config.require("scale_attn_by_inverse_layer_idx", false, "Heddle scales the scores of all layers alike");
  config.notInTraining("embd_pdrop", d.dropout);
  config.ignore({"n_ctx", "pad_token_id", "reorder_and_upcast_attn", "decoder_start_token_id", "summary_type",
                 "summary_use_proj", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
                 "cross_attention_hidden_size"});
}

FailureOr<Description> heddle::readHuggingFaceFolder(MLIRContext *context, StringRef folder,
                                                     const DescriptionChanges &changes) {
  FailureOr<HuggingFaceConfig> config = HuggingFaceConfig::read(context, (folder + "/config.json").str());
  if (failed(config))
    return failure();
  std::vector<std::string> architectures = config->list("architectures");
  if (config->hasFailed())
    return failure();
  if (architectures.size() != 1)
    return config->fail("architectures")
           << "'architectures' names " << architectures.size()
           << " models and should name a single model: MarianMTModel, BertModel, BertForMaskedLM "
           << "or GPT2LMHeadModel";

  Reader reader(*config);
  reader.d.start = config->whereIs("architectures");
  const std::string &name = architectures.front();
  if (name == "MarianMTModel")
    reader.readMarian();
  else if (name == "BertModel" || name == "BertForMaskedLM")
    reader.readBert(name == "BertForMaskedLM");
  else if (name == "GPT2LMHeadModel")
    reader.readGPT2();
  else
    return config->fail("architectures") << "'" << name
                                         << "' is an architecture that Heddle cannot import; Heddle takes "
                                         << "MarianMTModel, BertModel, BertForMaskedLM and GPT2LMHeadModel";
  for (StringRef key : {"is_decoder", "add_cross_attention", "tie_encoder_decoder"})
    config->require(key, false, "Heddle takes encoders as encoders and decoders as decoders; convert the model anew");
  config->ignore(kGeneralKeys);
  config->rejectOthers();
  if (config->hasFailed())
    return failure();
  FailureOr<Description> description = overrideDescription(context, std::move(reader.d), changes);
  if (failed(description))
    return failure();
  if (description->learnedPositions() && description->maxLength > reader.longest)
    return emitError(UnknownLoc::get(context)) << "--set max_length=" << description->maxLength << " is more than the "
                                               << reader.longest << " positions that the published model has learned";
  if (name == "MarianMTModel")
    description->tensors = nameMarianTensors(*description);
  else
    description->tensors = name == "GPT2LMHeadModel" ? nameGPT2Tensors(*description) : nameBertTensors(*description);
  return description;
}
