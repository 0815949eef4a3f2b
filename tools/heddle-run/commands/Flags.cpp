#include "tools/heddle-run/commands/Flags.h"

#include "runtime/artifact/Meaning.h"
#include "runtime/core/Status.h"
#include "runtime/hal/Backend.h"
#include "runtime/model/Sampling.h"
#include "tools/heddle-run/call/NamedFile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

namespace heddle::run {
namespace {

CLI::Validator finite(std::function<bool(double)> fits, const std::string &text, const std::string &name) {
  auto check = [=](const std::string &value) {
    char *end = nullptr;
    double number = std::strtod(value.c_str(), &end);
    bool isFinite = !value.empty() && *end == '\0' && std::isfinite(number);
    return isFinite && fits(number) ? std::string() : "'" + value + "' is not " + text;
  };
  return CLI::Validator(check, name);
}

CLI::Validator whole(uint64_t least, uint64_t most, const char *text, const char *name) {
  auto check = [=](const std::string &value) {
    uint64_t number = 0;
    const char *end = value.data() + value.size();
    auto [behind, error] = std::from_chars(value.data(), end, number);
    if (behind == end && (error == std::errc::result_out_of_range || number > most))
      return str("'", value, "' is larger than ", most);
    return error == std::errc() && behind == end && number >= least ? std::string()
                                                                    : str("'", value, "' is not ", text);
  };
  return CLI::Validator(check, name);
}

// A flag's value that a function of the runtime parses.
template <typename Parse> CLI::Validator parsedBy(Parse parse) {
  return CLI::Validator(
      [=](const std::string &value) {
        auto result = parse(value);
        std::string message = result.ok() ? "" : result.message();
        if (message.ends_with("."))
          message.pop_back(); // the message is a part of a longer one
        return message;
      },
      "");
}

} // namespace

const CLI::Validator kPositive = finite([](double value) { return value > 0; }, "a number above 0", "POSITIVE");
const CLI::Validator kNotNegative =
    finite([](double value) { return value >= 0; }, "a number of at least 0", "NONNEGATIVE");

CLI::Validator between(double least, double most) {
  return finite([=](double value) { return value >= least && value <= most; },
                str("a number from ", least, " to ", most), str("FROM ", least, " TO ", most));
}

constexpr uint64_t kMostCount = std::numeric_limits<int64_t>::max(), kMostSeed = std::numeric_limits<uint64_t>::max();
const CLI::Validator kCount = whole(1, kMostCount, "a whole number above 0", "POSITIVE");
const CLI::Validator kCountOrNone = whole(0, kMostCount, "a whole number of at least 0", "NONNEGATIVE");
const CLI::Validator kPort =
    whole(0, std::numeric_limits<uint16_t>::max(), "a whole number of at least 0", "NONNEGATIVE");
const CLI::Validator kSeed = whole(0, kMostSeed, "a whole number of at least 0", "NONNEGATIVE");

void addArtifact(CLI::App *command, ArtifactOptions &options) {
  command->add_option("artifact", options.artifact, "The compiled model, a .heddle file")->required();
  command
      ->add_option(
          "--device", options.device,
          "Where to run: cuda, vulkan, cpu, or vulkan:1 as `heddle-run devices` lists it (default: a GPU that\n"
          "the artifact has code for, otherwise the processor)")
      ->check(parsedBy(hal::parseDevice));
  command
      ->add_option_function<uint64_t>(
          "--threads",
          [](const uint64_t &threads) { setenv("HEDDLE_THREADS", std::to_string(threads).c_str(), /*overwrite=*/1); },
          "Threads that compile kernels, and that run them on the processor (default: HEDDLE_THREADS, otherwise\n"
          "one per core). Results do not depend on it")
      ->check(whole(1, 1024, "a whole number from 1 to 1024", "1 TO 1024"));
  command->add_flag(
      "--no-native-code", options.refuseNativeCode,
      "Refuse code for a processor, which can do whatever this program can: for artifacts of people whom you do\n"
      "not trust");
}

CLI::Option *addProfile(CLI::App *command, ArtifactOptions &options) {
  return command->add_option(
      "--profile", options.profile,
      "Write a timeline of host and device as a Chrome trace (JSON, for ui.perfetto.dev), each kernel with\n"
      "its FLOP/s and bytes/s; launches are then timed and run in sequence");
}

void addTrained(CLI::App *command, ArtifactOptions &options, std::string &checkpoint, const char *whatCheckpoint) {
  addArtifact(command, options);
  addBase(command, options);
  addProfile(command, options);
  command->add_option("--checkpoint", checkpoint, whatCheckpoint)->required();
}

CLI::Option *addSharing(CLI::App *command, ArtifactOptions &options) {
  auto take = [&options](const std::string &text) {
    options.devices = CLI::detail::split(text, ',');
    if (text.empty() || text.back() == ',' || std::ranges::count(options.devices, "") != 0)
      throw CLI::ValidationError("--devices", "'" + text + "' names no device between two commas; leave no name out");
    if (options.devices.size() > 1 && std::ranges::count(options.devices, "all") != 0)
      throw CLI::ValidationError("--devices", "'all' stands alone");
    for (const std::string &device : options.devices)
      if (std::string problem = device == "all" ? "" : parsedBy(hal::parseDevice)(device); !problem.empty())
        throw CLI::ValidationError("--devices", problem);
  };
  return command
      ->add_option_function<std::string>(
          "--devices", take,
          "Distribute the lines over several devices, each with the whole model: vulkan:0,vulkan:1, or all: the\n"
          "default device and those like it. Answers and their order stay the same")
      ->excludes(command->get_option("--device"))
      ->excludes(command->get_option("--profile"));
}

void addForce(CLI::App *command, ArtifactOptions &options) {
  command->add_flag_callback(
      "--force", [&options] { options.others = OtherMeaning::Warn; },
      "Load weights that were trained or published with another model; the differences are then "
      "warnings");
}

void addBase(CLI::App *command, ArtifactOptions &options) {
  command->add_option("--base", options.base,
                      "For an artifact that was compiled with --lora: the Hugging Face folder, the GGUF file or the "
                      "checkpoint with the\n"
                      "base's weights; --checkpoint is then only the adapter");
  addForce(command, options);
}

CLI::Option *addDebugNumerics(CLI::App *command, ArtifactOptions &options) {
  return command->add_flag(
      "--debug-numerics", options.debugNumerics,
      "Look for NaN and infinities after every launch; stop at the first, and name the ops of the model that the\n"
      "launch computes; several times slower");
}

void addDecoding(CLI::App *command, DecodingOptions &options) {
  command
      ->add_option("--max-length", options.maximumLength,
                   "The most tokens of a translation (default: 50 more than the sentence has)")
      ->check(kCount);
  command->add_flag("--no-cache", options.noCache,
                    "Evaluate the whole translation at every step: slow, a check of the key-value cache;\n"
                    "needs a model compiled with --set logits_entry=true");
  command->add_option("--beam", options.beam, "Hypotheses of a beam search; 1: greedy")
      ->check(kCount)
      ->capture_default_str();
  command
      ->add_option("--length-penalty", options.lengthPenalty,
                   "Scores are log-probabilities divided by ((5 + length) / 6) to this power (default: 0.6)")
      ->check(kNotNegative);
}

CLI::Option *addText(CLI::App *command, TextFiles &files, const char *targetPurpose) {
  CLI::Option *source = command->add_option("--src", files.source, "Source sentences, one per line");
  CLI::Option *target = command->add_option("--tgt", files.target, targetPurpose);
  CLI::Option *text = command->add_option("--text", files.text, "Plain text, for a decoder-only model")
                          ->excludes(source)
                          ->excludes(target);
  command
      ->add_option(
          "--data", files.data,
          "Records, a JSON object per line: {\"text\": \"...\", \"label\": \"...\"} or {\"tokens\": [\"...\"], "
          "\"labels\": [\"...\"]}\n"
          "for a model that gives labels; {\"prompt\": \"...\", \"completion\": \"...\"}, whose completion is "
          "learnt, {\"text\": \"...\"}\n"
          "or {\"messages\": [...]} for a decoder-only model")
      ->excludes(source)
      ->excludes(target)
      ->excludes(text);
  command
      ->add_option(
          "--documents", files.documents,
          "What a document of the plain text is: a line (lines), the lines between blank lines (blank-lines), or the\n"
          "whole file (file). A document longer than the model's max_length is cut into sequences")
      ->check(CLI::IsMember({"lines", "blank-lines", "file"}))
      ->needs(text)
      ->capture_default_str();
  return text;
}

void requireText(const TextFiles &files, const std::string &instead) {
  if (files.textKind() != TextKind::Pairs)
    return;
  if (files.empty())
    throw CLI::RequiredError("--src and --tgt, or --text, or --data" + (instead.empty() ? "," : instead));
  if (files.source.empty())
    throw CLI::RequiredError("--src");
  if (files.target.empty())
    throw CLI::RequiredError("--tgt");
}

std::vector<CLI::Option *> addEntryCall(CLI::App *command, EntryCall &call) {
  // Adds a flag that takes one value each time it is given.
  auto repeated = [&](const char *flag, std::vector<std::string> &values, const char *purpose) {
    auto isNamed = [](const std::string &value) {
      return NamedFile::parse("", value).ok() ? "" : "'" + value + "' is not of the form NAME=@FILE.npy";
    };
    return command->add_option(flag, values, purpose)
        ->allow_extra_args(false)
        ->type_name("NAME=@FILE.npy")
        ->check(CLI::Validator(isNamed, ""));
  };
  return {
      command->add_option("--entry", call.entry, "The entry's name"),
      repeated("--input", call.inputs, "An input"),
      repeated("--output", call.outputs, "Where to write an output"),
      repeated("--expect", call.expectations, "The expected values of an output"),
      command->add_option("--tolerance", call.tolerance, "Allowed |error| / (1 + |expected value|)")
          ->check(kNotNegative)
          ->capture_default_str(),
      command->add_option(
          "--variables", call.variables,
          "Variables to load first: a .safetensors file, also of a published model, a Hugging Face folder or "
          "a GGUF file"),
      command->add_option(
          "--expect-variables", call.expectedVariables,
          "The expected variables after the call, a .safetensors file; each variable is compared as a whole, by norms"),
      command->add_option("--save-variables", call.saveVariables, "Where to save the entry's variables after the call"),
      command->add_option("--seed", call.seed, "Run `init` with this seed first")->check(kSeed),
      command->add_option("--repeat", call.repeat, "Calls to make; the outputs of the last call count")
          ->check(kCount)
          ->capture_default_str(),
  };
}

void addSampling(CLI::App *command, SamplingFlags &flags) {
  CLI::Option *sample = command->add_flag("--sample", flags.sample, "Draw each token at random");
  command
      ->add_option("--temperature", flags.options.temperature, "Divides the logits before a token is drawn; 0: greedy")
      ->check(finite([](double value) { return value == 0 || (value >= 1e-3 && value <= 1e3); },
                     "0 or a number from 0.001 to 1000", "0, OR 0.001 TO 1000"))
      ->needs(sample)
      ->capture_default_str();
  command->add_option("--top-k", flags.options.topK, "Draw from this many most probable tokens; 0: from all")
      ->check(kCountOrNone)
      ->needs(sample)
      ->capture_default_str();
  command
      ->add_option("--top-p", flags.options.topP,
                   "Draw from the smallest set of most probable tokens that together have this probability")
      ->check(between(1e-6, 1))
      ->needs(sample)
      ->capture_default_str();
  command
      ->add_option("--min-p", flags.options.minP,
                   "Draw from the tokens with at least this share of the most probable token's probability")
      ->check(between(0, 1))
      ->needs(sample)
      ->capture_default_str();
  command
      ->add_option("--samplers", flags.samplers,
                   "The order of these rules, separated by commas (default: temperature,top-k,top-p,min-p, as in\n"
                   "Hugging Face's library; llama.cpp's is top-k,top-p,min-p,temperature)")
      ->check(parsedBy(parseSamplers))
      ->needs(sample);
  command->add_option("--seed", flags.options.seed, "Seed of the random numbers")
      ->check(kSeed)
      ->needs(sample)
      ->capture_default_str();
}

CLI::Option *addChatTemplate(CLI::App *command, std::string &path) {
  return command->add_option("--chat-template", path,
                             "A folder, GGUF file or .jinja file with the chat template (default: the "
                             "model's)");
}

void addServing(CLI::App *command, ServeCommand &serve) {
  command->add_option("--name", serve.name, "What requests call the model (default: the checkpoint's name)");
  command
      ->add_option("--adapter", serve.adapters,
                   "NAME=FOLDER, an adapter that requests choose by its name; may be given several times")
      ->allow_extra_args(false)
      ->type_name("NAME=FOLDER")
      ->check([](const std::string &value) {
        size_t equals = value.find('=');
        bool isNamed = equals != std::string::npos && equals != 0 && equals + 1 != value.size();
        return isNamed ? "" : "'" + value + "' is not NAME=FOLDER";
      });
  command->add_option("--host", serve.host, "Address to listen on; 0.0.0.0: all")->capture_default_str();
  command->add_option("--port", serve.port, "Port to listen on; 0: any free one")->check(kPort)->capture_default_str();
  command->add_option("--readers", serve.readers, "Threads that read requests: JSON, chat templates, tokens")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  command->add_option("--api-key-file", serve.keyFile,
                      "A file with keys, one per line; a request has to show one of them");
  command->add_option("--cors", serve.origin,
                      "The origin of pages elsewhere that may use the server (https://example.org, or *)");
  command
      ->add_option("--queue", serve.queue, "The most sequences that may wait for the model; more are refused with 429")
      ->check(CLI::Range(int64_t(0), int64_t(1'000'000)))
      ->capture_default_str();
  command
      ->add_option("--prompt-tokens", serve.promptTokens,
                   "Tokens of prompts that are read between two steps, so that a long prompt does not stall others")
      ->check(kCount)
      ->capture_default_str();
  command->add_option("--timeout", serve.timeout, "Seconds that an answer may take")
      ->check(CLI::Range(uint64_t(1), uint64_t(1'000'000)))
      ->capture_default_str();
}

} // namespace heddle::run
