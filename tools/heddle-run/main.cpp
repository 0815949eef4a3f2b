// heddle-run: trains, translates and calls compiled models.
#include "runtime/chat/Clock.h"
#include "runtime/core/Environment.h"
#include "runtime/session/Session.h"
#include "tools/cli/CommandLine.h"
#include "tools/heddle-run/commands/Commands.h"
#include "tools/heddle-run/commands/Flags.h"
#include "tools/heddle-run/report/Logging.h"

#include <cstdio>
#include <functional>
#include <map>
#include <new>
#include <system_error>
#include <tuple>

using namespace heddle;
using namespace heddle::run;

namespace {

constexpr const char *kEscapes =
    "In a line \\n stands for a line's end, \\r for a carriage return and \\\\ for a backslash.";

// The commands by name, and the work of each.
class CommandLine {
public:
  CommandLine() : app("Runs models that heddle-compile compiled.", "heddle-run") {
    app.require_subcommand(1);
    addDevices();
    addTrain();
    addAverage();
    addMerge();
    addExport();
    addQuantize();
    addTranslate();
    addExplain();
    addScore();
    addGenerate();
    addServe();
    addFill();
    addPredict();
    addEmbed();
    addTokenize();
    addRender();
    addReport();
    addCall();
    addBench();
  }

  int main(int argc, char **argv) {
    if (std::optional<int> code = cli::parseCommandLine(app, argc, argv))
      return *code;
    if (Status environment = checkEnvironment(); !environment.ok()) {
      std::fprintf(stderr, "heddle-run: %s\n", environment.message().c_str());
      return cli::kWrongCommandLine;
    }
    startLogging();
    Status status = guardedWork();
    if (uint64_t messages = validationMessageCount(); status.ok() && messages != 0)
      status = makeError(ErrorKind::Unsupported, messages, " messages of Vulkan's validation layers; see above.");
    std::string name = "heddle-run " + app.get_subcommands().front()->get_name();
    if (status.ok())
      return cli::finishOutput(name, 0);
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", name.c_str(), status.message().c_str());
    return cli::kWorkFailed;
  }

private:
  // Runs the command. Exceptions of the standard library become errors.
  Status guardedWork() {
    try {
      return work();
    } catch (const std::bad_alloc &) {
      return makeError(ErrorKind::OutOfMemory, "the host has no memory left; end other programs, or raise the limit.");
    } catch (const std::system_error &error) {
      bool isLimit = error.code() == std::errc::resource_unavailable_try_again;
      return makeError(ErrorKind::Io, isLimit ? "there is no thread to be had: " : "", error.what(),
                       isLimit ? "; end other programs, or raise the limit (ulimit -u)." : ".");
    }
  }

  CLI::App *add(const char *name, const char *purpose, std::function<Status()> action) {
    CLI::App *command = app.add_subcommand(name, purpose);
    command->callback([this, action = std::move(action)] { work = action; });
    return command;
  }

  void addDevices() {
    add("devices", "List the devices of this machine", [] { return runDevices(); });
  }

  void addTrain() {
    CLI::App *command =
        add("train",
            "Train a model: a translator on two text files whose lines n are a pair, a decoder-only model (GPT-2) on\n"
            "plain text or on prompts with completions, or a model that gives labels on records",
            [this] { return runTrain(train); });
    addTraining(command, train);
  }

  void addAverage() {
    CLI::App *command = add("average", "Average the weights of a training run's last checkpoints",
                            [this] { return runAverage(average); });
    command->add_option("--checkpoint", average.checkpoint, "Folder of the training run's checkpoints")->required();
    command->add_option("--output", average.output, "Folder of the checkpoint to write")->required();
    CLI::Option *last =
        command->add_option("--last", average.last, "Checkpoints to average (default: 5, or all if there are fewer)")
            ->check(kCount);
    CLI::Option *decay = command
                             ->add_option("--decay", average.decay,
                                          "The weight of a checkpoint relative to the next one; 1: all weigh the same")
                             ->check(between(0, 1))
                             ->capture_default_str();
    command
        ->add_flag("--ema", average.ema,
                   "Write the average over every step, as of the newest checkpoint, of a model that was compiled with\n"
                   "--set ema_decay=...")
        ->excludes(last)
        ->excludes(decay);
  }

  void addMerge() {
    CLI::App *command = add("merge", "Add an adapter to the weights of the published model that it was trained for",
                            [this] { return runMerge(merge); });
    addArtifact(command, merge.common);
    addBase(command, merge.common);
    command->get_option("--base")->required();
    command
        ->add_option("--checkpoint", merge.checkpoint,
                     "The adapter: a checkpoint, a folder that PEFT wrote, or llama.cpp's GGUF file")
        ->required();
    command->add_option("--output", merge.output, "The Hugging Face folder or GGUF file to write")->required();
  }

  void addExport() {
    CLI::App *command = add("export",
                            "Write a checkpoint in the format of the published model that it was compiled from, or its "
                            "adapter in PEFT's or "
                            "llama.cpp's format",
                            [this] { return runExport(exported); });
    addArtifact(command, exported.common);
    command
        ->add_option("--base", exported.common.base,
                     "The Hugging Face folder or GGUF file that the artifact was compiled from; everything except the\n"
                     "weights is copied from it")
        ->required();
    command->add_option("--checkpoint", exported.checkpoint, "Folder of the checkpoint, or of the training run")
        ->required();
    CLI::Option *folder =
        command->add_option("--hugging-face", exported.folder,
                            "The folder to write if the base is a folder; for an adapter, PEFT's folder");
    CLI::Option *file = command
                            ->add_option("--gguf", exported.file,
                                         "The GGUF file to write if the base is one; for an adapter, llama.cpp's file")
                            ->excludes(folder);
    command
        ->add_option("--type", exported.type,
                     "The type of the file's matrices. Vectors, and rows that are not whole blocks of 32 numbers, are "
                     "F32. With\n"
                     "Q4_K, rows that are not whole blocks of 256 numbers are Q8_0")
        ->check(CLI::IsMember({"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K"}))
        ->needs(file)
        ->capture_default_str();
    command->parse_complete_callback([=] {
      if (!*folder && !*file)
        throw CLI::RequiredError("--hugging-face or --gguf");
    });
  }

  void addQuantize() {
    CLI::App *command =
        add("quantize", "Write weights packed as an artifact that was compiled with --weights=int8 or int4 keeps them",
            [this] { return runQuantize(quantize); });
    addArtifact(command, quantize.common);
    addForce(command, quantize.common);
    command
        ->add_option("--checkpoint", quantize.checkpoint, "A checkpoint, or the published model's Hugging Face folder")
        ->required();
    command->add_option("--output", quantize.output, "The checkpoint to write")->required();
  }

  void addTranslate() {
    CLI::App *command =
        add("translate", "Translate the lines of standard input", [this] { return runTranslate(translate); });
    addTrained(command, translate.common, translate.checkpoint, "Folder of the checkpoint, or Hugging Face folder");
    addSharing(command, translate.common);
    addDecoding(command, translate.decoding);
    command
        ->add_option(
            "--beam-rule", translate.decoding.rule,
            "How a beam search scores and ends: as the paper, or as transformers with early stopping, whose\n"
            "scores are log-probabilities divided by the length to the power of --length-penalty (default: the\n"
            "folder's, or 1)")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, BeamRule>{{"paper", BeamRule::Paper}, {"hugging-face", BeamRule::HuggingFace}}));
    command
        ->add_option("--no-repeat-ngram", translate.decoding.noRepeat,
                     "No sequence of this many tokens occurs twice in a translation; 0: any may")
        ->check(kCountOrNone);
    command
        ->add_option("--min-length", translate.decoding.minimumLength,
                     "The least tokens before a translation's end mark")
        ->check(kCountOrNone);
    command->add_option("--n-best", translate.nBest, "Print this many translations of each line: number, score, text")
        ->check(kCount);
    CLI::Option *prefixes = command->add_option("--prefix", translate.prefixes,
                                                "A file with the beginning of each translation, one per line");
    command
        ->add_flag("--prefix-column", translate.prefixColumn,
                   "The beginning of a translation is the text after the line's first tab")
        ->excludes(prefixes);
    command
        ->add_flag("--ids", translate.ids,
                   "Lines and translations are token ids, separated by spaces; the end mark may follow a line's ids")
        ->excludes(prefixes)
        ->excludes("--prefix-column");
    CLI::Option *from =
        command->add_option("--from", translate.from, "Code of the source's language, as the vocabulary has it");
    CLI::Option *to = command->add_option("--to", translate.to, "Code of the translation's language");
    command
        ->add_flag("--language-columns", translate.languageColumns,
                   "A line begins with both codes, each with a tab behind it")
        ->excludes(from)
        ->excludes(to)
        ->excludes("--prefix-column");
    addSampling(command, translate.sampling);
    command->parse_complete_callback([this] {
      int64_t beam = translate.decoding.beam;
      if (translate.sampling.sample && beam != 1)
        throw CLI::ValidationError("--sample", "draws a single translation without a beam; leave --beam out");
      if (translate.sampling.sample && translate.nBest > 1)
        throw CLI::ValidationError("--sample", "draws a single translation of a line; leave --n-best out");
      if (translate.nBest > beam)
        throw CLI::ValidationError("--n-best", "a beam of " + std::to_string(beam) + " has no " +
                                                   std::to_string(translate.nBest) + " translations; widen --beam");
    });
  }

  void addExplain() {
    CLI::App *command = add("explain", "Show the attention of each head in a translation as an HTML page",
                            [this] { return runExplain(explain); });
    addTrained(command, explain.common, explain.checkpoint, "Folder of the checkpoint, or Hugging Face folder");
    command->add_option("--src", explain.source, "The source sentence")->required();
    command->add_option("--tgt", explain.target, "Its translation (default: the model's)");
    command->add_option("--html", explain.page, "Where to write the page")->required();
    addDecoding(command, explain.decoding);
  }

  void addScore() {
    CLI::App *command = add(
        "score", "Loss, perplexity, BLEU, chrF and exact matches of a model, or of translations; accuracy of labels",
        [this] { return runScore(score); });
    addArtifact(command, score.common);
    addBase(command, score.common);
    addProfile(command, score.common);
    CLI::Option *artifact = command->get_option("artifact")->required(false);
    CLI::Option *checkpoint =
        command->add_option("--checkpoint", score.checkpoint, "Folder of the checkpoint, or Hugging Face folder");
    CLI::Option *text = addText(command, score.text, "Reference translations, one per line");
    CLI::Option *source = command->get_option("--src");
    CLI::Option *data = command->get_option("--data");
    addChatTemplate(command, score.chatTemplate)->needs(data);
    CLI::Option *hypothesis =
        command->add_option("--hyp", score.hypothesis, "Score these translations, one per line, without a model");
    command
        ->add_flag("--per-line", score.perLine,
                   "Instead of scores, print the log-probability of each target line given its source, and its "
                   "number of tokens")
        ->excludes(hypothesis)
        ->excludes(text)
        ->excludes(data);
    command->add_option("--log", score.log, "Append the scores as a line of JSON");
    addDecoding(command, score.decoding);
    for (CLI::Option *option : {artifact, checkpoint, source, text, data})
      option->excludes(hypothesis);
    command->parse_complete_callback([=, this] {
      if (*hypothesis) {
        if (score.text.target.empty())
          throw CLI::RequiredError("--tgt");
        return;
      }
      for (CLI::Option *option : {artifact, checkpoint})
        if (!*option)
          throw CLI::RequiredError(option->get_name() + ", or --hyp,");
      requireText(score.text, ", or --hyp,");
    });
  }

  void addGenerate() {
    CLI::App *command =
        add("generate", "Continue the lines of standard input, which are prompts, with a decoder-only model (GPT-2)",
            [this] {
              for (const char *name : {"--sample", "--repetition-penalty"})
                generate.choosesTokens |= generateCommand->count(name) > 0;
              return runGenerate(generate);
            });
    generateCommand = command;
    command->footer(std::string("An answer is a line: the prompt and its continuation. ") + kEscapes);
    addTrained(command, generate.common, generate.checkpoint, "Folder of the checkpoint, or Hugging Face folder");
    CLI::Option *devices = addSharing(command, generate.common);
    command
        ->add_option("--tokens", generate.tokens,
                     "The most tokens of a continuation; the end mark (<|endoftext|>), or the length that the model "
                     "was compiled\n"
                     "for, may end it earlier")
        ->check(kCount)
        ->capture_default_str();
    addSampling(command, generate.sampling);
    CLI::Option *sample = command->get_option("--sample");
    command->get_option("--seed")->remove_needs(sample); // generation_config.json may ask for samples
    command
        ->add_flag("--greedy", generate.greedy,
                   "Choose the most probable token each time, whatever the model's generation_config.json says. Its "
                   "rules are\n"
                   "used if none of --sample, --greedy and --repetition-penalty is given")
        ->excludes(sample);
    CLI::Option *penalty =
        command
            ->add_option(
                "--repetition-penalty", generate.repetitionPenalty,
                "Divides the logits of tokens that are in the text if they are above 0, and multiplies them otherwise")
            ->check(between(1e-2, 1e2))
            ->capture_default_str();
    command
        ->add_option("--penalty-window", generate.penaltyWindow,
                     "Penalise only the last N tokens of the text (default: all)")
        ->check(kCount)
        ->needs(penalty);
    command->add_option("--stop", generate.stops, "End a continuation before this text; may be given several times")
        ->allow_extra_args(false)
        ->type_name("TEXT")
        ->check([](const std::string &text) { return text.empty() ? "an empty text ends every continuation" : ""; });
    CLI::Option *json =
        command->add_flag("--json", generate.json,
                          "Answer with a JSON object: prompt, completion, the number of its tokens, and why "
                          "it ends (end, stop, length,\n"
                          "or room: it reached the length that the model was compiled for)");
    CLI::Option *chat = command->add_flag(
        "--chat", generate.chat,
        "Answer messages with the model's chat template: a line is a user's message, or a JSON object with a whole\n"
        "conversation ({\"messages\": [...]}, as for render). Only the answer is printed");
    addChatTemplate(command, generate.chatTemplate)->needs(chat);
    CLI::Option *ids = command
                           ->add_flag("--ids", generate.ids,
                                      "Prompts and answers are token ids, separated by spaces; no begin mark is added")
                           ->excludes(chat)
                           ->excludes("--stop");
    command->add_flag("--stream", generate.stream, "Print each piece of text as soon as it is known, prompt by prompt")
        ->excludes(json)
        ->excludes(ids)
        ->excludes(devices);
  }

  void addServe() {
    CLI::App *command =
        add("serve", "Answer requests over HTTP with a model, by OpenAI's API if it has a route for them",
            [this] { return runServe(serve); });
    command->footer(
        "SIGTERM finishes running requests and ends; SIGHUP loads the checkpoint again. docs/serve.md has the routes.");
    addArtifact(command, serve.common);
    addBase(command, serve.common);
    command->add_option("--checkpoint", serve.checkpoint, "Folder of the checkpoint, Hugging Face folder, or GGUF file")
        ->required();
    addServing(command, serve);
    addChatTemplate(command, serve.chatTemplate);
  }

  void addFill() {
    CLI::App *command = add("fill", "Fill in each [MASK] of the lines of standard input with an encoder (BERT)",
                            [this] { return runFill(fill); });
    addTrained(command, fill.common, fill.checkpoint, "Hugging Face folder");
    addSharing(command, fill.common);
    command
        ->add_option(
            "--top-k", fill.choices,
            "Instead of the filled line, print this many choices for each mask, one per line: the line's number, the\n"
            "mask's number, probability, token. For a line without a mask: its number, 0 and nan")
        ->check(kCount);
  }

  void addEmbed() {
    CLI::App *command =
        add("embed", "Answer each line of standard input with a vector of numbers", [this] { return runEmbed(embed); });
    addTrained(command, embed.common, embed.checkpoint, "Hugging Face folder, or folder of the checkpoint");
    addSharing(command, embed.common);
    command->add_option("--output", embed.output,
                        "Write all vectors to this .npy file, a row for each line, instead of printing them");
  }

  void addPredict() {
    CLI::App *command =
        add("predict", "Predict the labels of the lines of standard input with a model that gives labels",
            [this] { return runPredict(predict); });
    command->footer(
        "An answer is a line: the label, a tab and its probability; or a label for each of the line's words, which\n"
        "are separated by white space.");
    addTrained(command, predict.common, predict.checkpoint, "Folder of the checkpoint");
    addSharing(command, predict.common);
    command->add_flag("--records", predict.records,
                      "Lines are JSON records, {\"text\": \"...\"} or {\"tokens\": [\"...\"]}, with labels or without");
  }

  void addTokenize() {
    CLI::App *command = add("tokenize", "Print each line of standard input as token ids, a tab, and their pieces",
                            [this] { return runTokenize(tokenize); });
    command->footer(kEscapes);
    command
        ->add_option("folder", tokenize.folder,
                     "A Hugging Face folder with the vocabulary of a language model, BERT or Marian, a checkpoint, a "
                     "GGUF file or a SentencePiece model")
        ->required();
    command->add_flag("--decode", tokenize.decode, "The reverse: print the text of each line of ids");
  }

  void addRender() {
    CLI::App *command = add(
        "render", "Print the text that a model's chat template makes of each line of standard input, a conversation",
        [this] { return runRender(render); });
    command->footer(
        "A line is a JSON object: {\"messages\": [...], \"add_generation_prompt\": true, \"variables\": {...}}; "
        "the\n"
        "last two may be left out. An answer is a line: the text as a JSON string, or {\"error\": ...} for a\n"
        "conversation that the template refuses.");
    command
        ->add_option("model", render.model,
                     "A Hugging Face folder, a GGUF file, or a file with a chat template (NAME.jinja)")
        ->required();
    command
        ->add_option_function<std::string>(
            "--now",
            [this](const std::string &text) {
              render.now = chat::readTime(text);
              if (!render.now)
                throw CLI::ValidationError("--now", "'" + text + "' is no time such as 2026-01-02T03:04:05");
            },
            "The time that the template's strftime_now() gets (default: the clock's)")
        ->type_name("TIME");
  }

  void addReport() {
    CLI::App *command = add("report", "Draw the logs of training runs as an HTML page with curves",
                            [this] { return runReport(report); });
    command->add_option("log", report.logs, "Logs that `train --log` wrote; several share one chart")->required();
    command->add_option("--html", report.page, "Where to write the page")->required();
  }

  void addCall() {
    CLI::App *command = add("call", "Call an entry with tensors from files", [this] { return runCall(call); });
    addArtifact(command, call.common);
    addForce(command, call.common);
    CLI::Option *profile = addProfile(command, call.common);
    addDebugNumerics(command, call.common)->excludes(profile);
    std::vector<CLI::Option *> single = addEntryCall(command, call.single);
    CLI::Option *calls = command->add_flag(
        "--calls", call.calls,
        "Make a call for each line of standard input, which has the flags of this command, in a single session:\n"
        "variables keep their values from call to call. Each answer ends with a line 'call N: done'");
    calls->excludes(profile);
    command->add_flag("--keep-going", call.keepGoing, "Go on after a failed call")->needs(calls);
    for (CLI::Option *option : single)
      calls->excludes(option);
    command->parse_complete_callback([=, this] {
      if (!*calls && call.single.entry.empty())
        throw CLI::RequiredError("--entry, or --calls,");
    });
  }

  void addBench() {
    CLI::App *command = add("bench", "Time entries, kernel by kernel, on random inputs that fill them",
                            [this] { return runBench(bench); });
    addArtifact(command, bench.common);
    addProfile(command, bench.common);
    command->add_option("--entry", bench.entries, "An entry's name; may be repeated (default: all but init)")
        ->allow_extra_args(false);
    command->add_option("--repeat", bench.repeat, "Timed calls, of which the median counts")
        ->check(kCount)
        ->capture_default_str();
    command->add_option("--warmup", bench.warmup, "Calls before them")->check(kCountOrNone)->capture_default_str();
    command
        ->add_option("--sequences", bench.sequences,
                     "Sequences of a batch (default: as many as make them 25 tokens long, within the maximum)")
        ->check(kCount);
    command->add_option(
        "--ceilings", bench.ceilings,
        "The artifact that measures the ceilings of the device (default: built for the target), or none");
    command->add_flag("--json", bench.json, "Print a JSON object instead of tables");
    command->add_option("--save", bench.save, "Write the JSON object to a file, too");
  }

  CLI::App app;
  std::function<Status()> work;
  TrainCommand train;
  AverageCommand average;
  MergeCommand merge;
  ExportCommand exported;
  QuantizeCommand quantize;
  TranslateCommand translate;
  ExplainCommand explain;
  ScoreCommand score;
  GenerateCommand generate;
  CLI::App *generateCommand = nullptr;
  ServeCommand serve;
  FillCommand fill;
  PredictCommand predict;
  EmbedCommand embed;
  TokenizeCommand tokenize;
  RenderCommand render;
  ReportCommand report;
  CallCommand call;
  BenchCommand bench;
};

} // namespace

int main(int argc, char **argv) {
  cli::beginProgram();
  return CommandLine().main(argc, argv);
}
