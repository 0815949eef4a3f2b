// Turns a GGUF file into the configuration that Hugging Face has for the same model, which is then read like any other.
#include "runtime/core/Gguf.h"
#include "compiler/Model/HuggingFace/Describe.h"
#include "compiler/Model/HuggingFace/Family.h"
#include "compiler/Model/HuggingFace/HuggingFace.h"
#include "compiler/Model/HuggingFace/RotaryFit.h"
#include "compiler/Model/Language/Published.h"
#include "dialects/Heddle/VariableRoles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::GgufEntry;
using ::heddle::GgufReader;
using ::heddle::GgufValue;

static constexpr int64_t kMostNumber = int64_t(1) << 31;

namespace {

/// Reads the keys of one model. A key that nobody has read is unknown in the end.
class Reader {
public:
  Reader(MLIRContext *context, StringRef path, const GgufReader &file, const DescriptionChanges &changes)
      : context(context), path(path), file(file), ignoredKeys(changes.ignoredKeys), ownFamily(changes.family) {}

  /// Returns nothing after an error.
  std::optional<llvm::json::Object> read();
  const std::string &getArchitecture() const { return architecture; }
  /// Rejects keys that nobody has read, and tensors of the file that the model does not have. `description` names the
  /// model's tensors.
  LogicalResult finish(const Description &description);
  /// Returns the contents that a family's text reads in addition to the configuration.
  GgufContents getContents();
  /// Sets the packed type of each variable whose tensor is packed, once finish() has succeeded.
  void nameStoredTypes(ModuleOp module) const;

  InFlightDiagnostic fail() {
    failed = true;
    return emitError(Location(FileLineColLoc::get(context, path, 1, 1)));
  }

private:
  //===-- Values ------------------------------------------------------------------------------------------------===//
  // Values of the architecture's keys, which begin with its name. A key without a default is required.

  std::string named(StringRef key) const { return architecture + "." + key.str(); }
  const GgufValue *find(const std::string &key) {
    known.insert(key);
    return file.value(key);
  }
  template <typename T> std::optional<T> wrong(const std::string &key, StringRef what) {
    fail() << "'" << key << "' should be " << what << "; convert the model anew";
    return std::nullopt;
  }
  template <typename T, typename Get> T get(StringRef key, StringRef what, std::optional<T> otherwise, Get get);
  int64_t whole(StringRef key, std::optional<int64_t> otherwise = {});
  double number(StringRef key, std::optional<double> otherwise = {});
  std::string text(const std::string &key, StringRef otherwise);
  bool has(StringRef tensor) const { return file.find(std::string_view(tensor)); }

  /// Emits an error if the key is there with another value.
  void require(StringRef key, double value, StringRef why);

  void readShape();
  void readRotary();
  void readLongRotary(double base, int64_t before, double attention);
  void readGemma(int64_t width, int64_t heads, int64_t layers);
  void readMarks();
  void rejectOthers();

  MLIRContext *context;
  std::string path, architecture;
  const GgufReader &file;
  ArrayRef<std::string> ignoredKeys;
  std::string ownFamily;
  llvm::StringSet<> known;
  llvm::StringMap<const GgufEntry *> tensorOf; // of each weight
  llvm::json::Object config;
  int64_t headWidth = 1;
  bool failed = false;
};

} // namespace

template <typename T, typename Get> T Reader::get(StringRef key, StringRef what, std::optional<T> otherwise, Get get) {
  std::string name = named(key);
  const GgufValue *value = find(name);
  if (!value && !otherwise)
    fail() << "the file lacks the key '" << name << "', " << what
           << ", without which the model's shape is not known; convert the model anew";
  else if (std::optional<T> read = value ? get(*value) : otherwise)
    return *read;
  else
    wrong<T>(name, what);
  return otherwise.value_or(1);
}

int64_t Reader::whole(StringRef key, std::optional<int64_t> otherwise) {
  return get<int64_t>(key, "a whole number", otherwise, [](const GgufValue &value) -> std::optional<int64_t> {
    std::optional<uint64_t> whole = value.whole();
    return whole && *whole < uint64_t(kMostNumber) ? std::optional<int64_t>(*whole) : std::nullopt;
  });
}

double Reader::number(StringRef key, std::optional<double> otherwise) {
  return get<double>(key, "a number", otherwise, [](const GgufValue &value) { return value.number(); });
}

std::string Reader::text(const std::string &key, StringRef otherwise) {
  const GgufValue *value = find(key);
  if (!value)
    return otherwise.str();
  if (const std::string *text = value->text())
    return *text;
  return wrong<std::string>(key, "a text").value_or("");
}

void Reader::require(StringRef key, double value, StringRef why) {
  std::string name = named(key);
  const GgufValue *given = find(name);
  if (!given)
    return;
  std::optional<double> number = given->number();
  if (std::optional<bool> flag = given->flag())
    number = *flag ? 1 : 0;
  if (number != value)
    fail() << "'" << name << "' is " << (number ? showNumber(*number) : "no number") << ", but " << why;
}

//===-- The configuration ---------------------------------------------------------------------------------------===//

void Reader::readShape() {
  bool isGemma = architecture == "gemma2";
  int64_t width = whole("embedding_length"), heads = std::max<int64_t>(1, whole("attention.head_count"));
  int64_t layers = whole("block_count");
  headWidth = whole("attention.key_length", std::max<int64_t>(1, width / heads));
  int64_t longest = whole("context_length"), window = whole("attention.sliding_window", isGemma ? 4096 : 0);
  config["hidden_size"] = width;
  config["num_attention_heads"] = heads;
  config["num_key_value_heads"] = whole("attention.head_count_kv", heads);
  config["head_dim"] = headWidth;
  config["intermediate_size"] = whole("feed_forward_length");
  config["num_hidden_layers"] = layers;
  config["max_position_embeddings"] = longest;
  if (file.value(named("attention.layer_norm_rms_epsilon")))
    config["rms_norm_eps"] = number("attention.layer_norm_rms_epsilon");
  config["tie_word_embeddings"] = !has("output.weight");

  bool hasExperts = architecture == "llama" && whole("expert_count", 0) > 0; // Mixtral's files are called so
  config["architectures"] = llvm::json::Array{hasExperts ? "llama with experts" : architecture};
  if (llvm::is_contained({"llama", "qwen2", "qwen3"}, architecture)) // the families' texts name the others
    config["hidden_act"] = "silu";
  if (window > 0)
    config["sliding_window"] = window;
  if (window > 0 && StringRef(architecture).starts_with("qwen")) {
    config["use_sliding_window"] = true;
    config["max_window_layers"] = 0;
  }
  if (StringRef(architecture).starts_with("gemma"))
    readGemma(width, heads, layers);
  readRotary();

  const GgufEntry *embedding = file.find("token_embd.weight");
  if (!embedding || embedding->shape.size() != 2)
    fail() << "the file has no matrix 'token_embd.weight', whose rows are the vocabulary; convert the model anew";
  else
    config["vocab_size"] = embedding->shape[0];
}

void Reader::readGemma(int64_t width, int64_t heads, int64_t layers) {
  config["hidden_activation"] = "gelu_pytorch_tanh";
  if (architecture == "gemma")
    return;
  // The format does not have this key. In both families, the largest published size divides by another number.
  config["query_pre_attn_scalar"] = layers == (architecture == "gemma2" ? 46 : 62) ? width / heads : headWidth;
  if (architecture != "gemma2")
    return;
  config["attn_logit_softcapping"] = number("attn_logit_softcapping", 50);
  config["final_logit_softcapping"] = number("final_logit_softcapping", 30);
}

void Reader::readRotary() {
  double base = number("rope.freq_base", 10000);
  config["rope_theta"] = base;
  if (int64_t turned = whole("rope.dimension_count", headWidth); turned != headWidth) {
    auto width = static_cast<double>(headWidth), factor = static_cast<double>(turned) / width;
    if (factor * width < static_cast<double>(turned)) // the product is rounded down to a whole number
      factor = std::nextafter(factor, 1.0);
    config["partial_rotary_factor"] = factor;
  }

  std::string key = named("rope.scaling.type");
  double once = number("rope.scale_linear", 1); // in files from before the scaling keys
  std::string kind = text(key, once != 0 && once != 1 ? "linear" : "none");
  double factor = number("rope.scaling.factor", once);
  int64_t before = whole("rope.scaling.original_context_length", whole("context_length"));
  double slow = number("rope.scaling.yarn_beta_slow", 1), fast = number("rope.scaling.yarn_beta_fast", 32);
  double attention = number("rope.scaling.attn_factor", 1); // times the factor of yarn's own rule
  require("rope.scaling.yarn_attn_factor", 1, "Heddle's yarn scales attention by its factor alone");
  require("rope.scaling.yarn_ext_factor", 1, "Heddle's yarn has this factor always");
  // DeepSeek's yarn scales scores instead of queries and keys. Its files have a tenth of the configuration's number.
  double scale = architecture == "deepseek2" ? 10 * number("rope.scaling.yarn_log_multiplier", 0) : 0;
  if (scale == 0)
    require("rope.scaling.yarn_log_multiplier", 0, "Heddle's yarn scales attention by its factor alone");
  if (kind == "linear")
    config["rope_scaling"] = llvm::json::Object{{"rope_type", kind}, {"factor", factor}};
  else if (kind == "yarn")
    config["rope_scaling"] = llvm::json::Object{
        {"rope_type", kind},
        {"factor", factor},
        {"original_max_position_embeddings", before},
        {"beta_slow", slow},
        {"beta_fast", fast},
        {"attention_factor",
         attention == 1 ? llvm::json::Value(nullptr) : llvm::json::Value(attention * (0.1 * std::log(factor) + 1))},
        {"mscale", scale},
        {"mscale_all_dim", scale}};
  else if (kind != "none")
    fail() << "'" << key << "' is \"" << kind << "\", and Heddle reads none, linear and yarn from GGUF files";

  // LLaMA 3's scaling has no key, but a divisor for each frequency.
  if (has("rope_factors_short.weight") && !failed)
    return readLongRotary(base, before, attention);
  const GgufEntry *divisors = file.find("rope_freqs.weight");
  if (!divisors || failed)
    return;
  std::optional<RotaryFit> fit;
  if (divisors->readType() && divisors->shape == ::heddle::Shape{headWidth / 2} && kind == "none")
    if (::heddle::Result<::heddle::HostTensor> values = file.read(*divisors); values.ok())
      fit = fitRotaryDivisors(values->values<float>(), base, headWidth);
  if (!fit)
    fail()
        << "'rope_freqs.weight' has divisors of the rotary frequencies that LLaMA 3's rule does not give, and Heddle "
           "knows no other rule for them; use the folder that Hugging Face publishes";
  else if (fit->factor != 1)
    config["rope_scaling"] = llvm::json::Object{{"rope_type", "llama3"},
                                                {"factor", fit->factor},
                                                {"low_freq_factor", fit->low},
                                                {"high_freq_factor", fit->high},
                                                {"original_max_position_embeddings", fit->length}};
}

/// Reads the divisors of each frequency in short and in long texts, which are tensors.
void Reader::readLongRotary(double base, int64_t before, double attention) {
  llvm::json::Object rotary{
      {"rope_type", "longrope"}, {"rope_theta", base}, {"original_max_position_embeddings", before}};
  if (attention != 1)
    rotary["attention_factor"] = attention;
  for (auto [theirs, ours] :
       {std::pair("rope_factors_short.weight", "short_factor"), {"rope_factors_long.weight", "long_factor"}}) {
    const GgufEntry *entry = file.find(theirs);
    ::heddle::Result<::heddle::HostTensor> values =
        entry && entry->readType() && entry->shape.size() == 1
            ? file.read(*entry)
            : ::heddle::Result<::heddle::HostTensor>(::heddle::makeError(::heddle::ErrorKind::NotFound, ""));
    if (!values.ok()) {
      fail() << "the file has no row of numbers '" << theirs << "' beside the other; convert the model anew";
      return;
    }
    llvm::json::Array list;
    for (float value : values->values<float>())
      list.push_back(static_cast<double>(value));
    rotary[ours] = std::move(list);
  }
  config["rope_parameters"] = std::move(rotary);
}

/// Reads the ids of the begin and end marks, if they are tokens.
void Reader::readMarks() {
  std::string model = text("tokenizer.ggml.model", "");
  bool isPieces = model == "llama";
  std::optional<int64_t> vocabulary = config.getInteger("vocab_size");
  auto read = [&](const char *theirs, std::optional<int64_t> usual) -> std::optional<int64_t> {
    const GgufValue *value = find(theirs);
    if (!value)
      return usual;
    std::optional<uint64_t> id = value->whole();
    if (id && !(vocabulary && *id >= uint64_t(*vocabulary)))
      return int64_t(*id);
    return wrong<int64_t>(theirs, "the number of a token");
  };
  auto usual = [&](int64_t id) { return isPieces ? std::optional(id) : std::nullopt; };
  if (std::optional<int64_t> begin = read("tokenizer.ggml.bos_token_id", usual(1)))
    config["bos_token_id"] = *begin;
  // The ends of a text, of a turn and of a message.
  llvm::json::Array ends;
  for (std::optional<int64_t> end :
       {read("tokenizer.ggml.eos_token_id", usual(2)), read("tokenizer.ggml.eot_token_id", std::nullopt),
        read("tokenizer.ggml.eom_token_id", std::nullopt)})
    if (end)
      ends.push_back(*end);
  if (!ends.empty())
    config["eos_token_id"] = std::move(ends);
}

/// Rejects keys that nobody has read, and that may change the model's results.
void Reader::rejectOthers() {
  // The family's text may have read these two.
  if (!known.contains(named("use_parallel_residual")))
    require("use_parallel_residual", 0, "this family's blocks have attention before the feed-forward");
  if (!known.contains(named("attention.value_length")))
    require("attention.value_length", double(headWidth), "Heddle's heads of values are as wide as those of keys");
  require("attention.causal", 1, "Heddle's decoders see the tokens before a token only");
  for (StringRef key : {"vocab_size", "pooling_type", "rope.scaling.finetuned", "attention.layer_norm_epsilon"})
    known.insert(named(key));
  if (std::string layout = text(named("tensor_data_layout"), "reference");
      layout != "reference" && layout != "Meta AI original pth")
    fail() << "'" << named("tensor_data_layout") << "' is \"" << layout
           << "\", and Heddle reads tensors laid out as usual";
  for (const auto &[key, value] : file.values()) {
    bool isIgnored = llvm::is_contained(ignoredKeys, key), isKnown = known.contains(key);
    if (isIgnored && isKnown)
      fail() << "--ignore-key=" << key << ": Heddle reads this key";
    if (isIgnored || isKnown || !StringRef(key).starts_with(architecture + "."))
      continue;
    if ((value.text() && value.text()->empty()) || (value.array() && value.array()->empty()))
      emitWarning(Location(FileLineColLoc::get(context, path, 1, 1)))
          << "'" << key << "' is a key that Heddle does not know; its empty value is taken to mean nothing";
    else
      fail() << "'" << key
             << "' is a key that Heddle does not know, and it may change what the model computes; use the "
             << "folder that Hugging Face publishes, or pass the key over with --ignore-key=" << key;
  }
}

std::optional<llvm::json::Object> Reader::read() {
  architecture = text("general.architecture", "");
  std::string kind = text("general.type", "model");
  if (std::vector<std::string> all = language::listArchitectures(/*isGguf=*/true);
      ownFamily.empty() && !llvm::is_contained(all, architecture)) {
    fail() << "'general.architecture' is \"" << architecture << "\", and Heddle reads GGUF files of "
           << llvm::join(all, ", ")
           << "; other models that it has are read from the folder that Hugging Face publishes";
  } else if (kind != "model") {
    fail() << "'general.type' is \"" << kind << "\", and Heddle reads GGUF files of whole models";
  } else {
    readShape();
    readMarks();
  }
  return failed ? std::nullopt : std::optional(std::move(config));
}

GgufContents Reader::getContents() {
  auto find = [this](StringRef key) -> std::optional<llvm::json::Value> {
    const GgufValue *value = this->find(named(key));
    if (!value)
      return std::nullopt;
    if (std::optional<bool> flag = value->flag())
      return *flag;
    if (std::optional<uint64_t> whole = value->whole(); whole && *whole < uint64_t(kMostNumber))
      return static_cast<int64_t>(*whole);
    if (std::optional<double> number = value->number())
      return *number;
    if (const GgufValue::Array *array = value->array()) {
      llvm::json::Array list;
      for (const GgufValue &one : *array)
        list.push_back(one.flag() ? static_cast<double>(*one.flag()) : one.number().value_or(-1));
      return list;
    }
    return value->text() ? std::optional<llvm::json::Value>(*value->text()) : std::nullopt;
  };
  return {find, [this](StringRef tensor) { return has(tensor); }};
}

LogicalResult Reader::finish(const Description &description) {
  rejectOthers();
  llvm::StringSet<> used;
  for (const auto &[weight, origin] : description.tensors) {
    const llvm::json::Object *place = origin.getAsObject()->getObject("gguf");
    std::string name = place ? place->getArray("from")->front().getAsString()->str() : "";
    if (!has(name))
      return fail() << "the file has no tensor '" << name << "' for the weight '" << weight.str()
                    << "'; download or convert it again";
    used.insert(name);
    if (!place->get("beside")) // its packed rows are not the weight's
      tensorOf[weight] = file.find(name);
  }
  auto isIgnored = [&](StringRef name) {
    return llvm::any_of(description.ignoredTensors, [&](const llvm::json::Value &start) {
      return name.starts_with(start.getAsString().value_or(" "));
    });
  };
  for (const GgufEntry &entry : file.entries()) {
    if (isIgnored(entry.name))
      continue;
    if (!used.contains(entry.name) && !StringRef(entry.name).starts_with("rope_f"))
      return fail() << "'" << entry.name << "' is a tensor that Heddle does not know in a file of the architecture '"
                    << architecture << "'; use the folder that Hugging Face publishes";
    if (!entry.readType())
      return fail() << "'" << entry.name << "' is of the type " << ::heddle::nameOfGgufType(entry.type)
                    << ", and Heddle reads " << ::heddle::readGgufTypes()
                    << "; take the model's file of one of these types, or convert it";
  }
  return success(!failed);
}

void Reader::nameStoredTypes(ModuleOp module) const {
  for (auto variable : module.getOps<VariableOp>())
    if (const GgufEntry *entry = tensorOf.lookup(variable.getSymName()); entry && entry->type != ::heddle::kGgufF32)
      variable->setAttr(kStoredAttrName, StringAttr::get(context, entry->readType()->name));
}

OwningOpRef<ModuleOp> mlir::heddle::importGguf(MLIRContext *context, StringRef path,
                                               const DescriptionChanges &changes) {
  ::heddle::Result<GgufReader> file = GgufReader::open(path.str());
  if (!file.ok()) {
    emitError(UnknownLoc::get(context)) << StringRef(file.message()).rtrim('.');
    return nullptr;
  }
  Reader reader(context, path, *file, changes);
  std::optional<llvm::json::Object> object = reader.read();
  if (!object)
    return nullptr;
  HuggingFaceConfig config = HuggingFaceConfig::make(context, path, std::move(*object));
  GgufContents contents = reader.getContents();
  FailureOr<Description> description = describeModel(config, changes, &contents);
  if (mlir::failed(description))
    return nullptr;
  addPublishedMeaning(config, *description);
  OwningOpRef<ModuleOp> module = importModel(context, std::move(description),
                                             [&](const Description &complete) { return reader.finish(complete); });
  if (module)
    reader.nameStoredTypes(*module);
  return module;
}
