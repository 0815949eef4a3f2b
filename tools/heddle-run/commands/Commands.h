// The commands of heddle-run. Each takes its parsed flags and returns its error, if any.
#pragma once

#include "runtime/artifact/Meaning.h"
#include "runtime/core/Status.h"
#include "runtime/model/BeamSearch.h"
#include "runtime/model/Sampling.h"
#include "runtime/ranks/Ranks.h"
#include "runtime/train/TrainingRun.h"
#include "tools/heddle-run/report/Profile.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace heddle::run {

struct ArtifactOptions {
  std::string artifact;
  std::string device; // if empty, chooseDevice() chooses one
  bool refuseNativeCode = false;
  // For commands that share out lines among devices; replaces `device`. A single "all" means the device that would be
  // chosen without the flag, and all devices like it.
  std::vector<std::string> devices;
  std::string profile;                        // file for the trace of host and device; empty: none
  bool debugNumerics = false;                 // for `call` and `train`
  std::string base;                           // folder of the weights that an adapter belongs to
  OtherMeaning others = OtherMeaning::Refuse; // --force: Warn
};

struct TrainCommand {
  ArtifactOptions common;
  TrainingOptions training; // without what `common` and the ranks say
  std::string log, tensorboard;
  bool restarts = false, verifyResume = false;
  std::optional<StepWindow> profiledSteps;
  RankFlags ranks;
  TransportChoice transport = TransportChoice::Auto;
  double timeout = 120; // seconds that a rank may stand still
};

struct AverageCommand {
  std::string checkpoint, output;
  std::optional<uint64_t> last; // nullopt: all, 5 at most
  double decay = 1;
  bool ema = false; // the average that training kept, instead of an average of checkpoints
};

struct MergeCommand {
  ArtifactOptions common;
  std::string checkpoint, output;
};

struct ExportCommand {
  ArtifactOptions common;
  std::string checkpoint, folder, file, type = "F32"; // either `folder` or `file`
};

struct QuantizeCommand {
  ArtifactOptions common;
  std::string checkpoint, output;
};

struct DecodingOptions {
  int64_t maximumLength = 0;
  int64_t beam = 1;
  std::optional<double> lengthPenalty; // none: as the beam rule has it
  BeamRule rule = BeamRule::Paper;
  std::optional<int64_t> noRepeat, minimumLength; // none: as the beam rule has them
  bool noCache = false;
};

struct SamplingFlags {
  bool sample = false;
  SamplingOptions options;
  std::string samplers; // comma-separated names; empty: the usual order
};

struct TranslateCommand {
  ArtifactOptions common;
  std::string checkpoint;
  DecodingOptions decoding;
  int64_t nBest = 0;         // 0: only the best translation, without its score
  std::string prefixes;      // a file with the beginning of each line's translation
  bool prefixColumn = false; // or the beginnings are a second, tab-separated column of the input
  SamplingFlags sampling;
  bool ids = false;
  std::string from, to; // codes of languages
  bool languageColumns = false;
};

struct GenerateCommand {
  ArtifactOptions common;
  std::string checkpoint;
  int64_t tokens = 50;
  SamplingFlags sampling;
  bool greedy = false;
  bool choosesTokens = false; // a flag says how to choose tokens, so the model's own rules do not apply
  double repetitionPenalty = 1;
  int64_t penaltyWindow = 0; // 0: all tokens
  std::vector<std::string> stops;
  bool json = false, stream = false;
  bool chat = false, ids = false;
  std::string chatTemplate; // its path; empty: the model's own
};

struct ServeCommand {
  ArtifactOptions common;
  std::string checkpoint, name;      // no name: the checkpoint's
  std::vector<std::string> adapters; // NAME=FOLDER
  std::string host = "127.0.0.1", keyFile, origin, chatTemplate;
  uint16_t port = 8080;
  unsigned readers = 2;
  int64_t queue = 256, promptTokens = 512;
  uint64_t timeout = 600; // seconds
};

struct FillCommand {
  ArtifactOptions common;
  std::string checkpoint;
  int64_t choices = 0; // 0: print the line with its masks filled
};

struct EmbedCommand {
  ArtifactOptions common;
  std::string checkpoint;
  std::string output; // a .npy file for all vectors; empty: print them
};

struct PredictCommand {
  ArtifactOptions common;
  std::string checkpoint;
  bool records = false; // lines are records of JSON instead of texts
};

struct TokenizeCommand {
  std::string folder;
  bool decode = false;
};

struct RenderCommand {
  std::string model;          // a folder, a GGUF file or a file with a chat template
  std::optional<std::tm> now; // none: the clock's time
};

struct ExplainCommand {
  ArtifactOptions common;
  std::string checkpoint, source, page;
  std::optional<std::string> target; // none: the model's translation
  DecodingOptions decoding;
};

struct ReportCommand {
  std::vector<std::string> logs;
  std::string page;
};

struct ScoreCommand {
  ArtifactOptions common;
  TextFiles text;
  std::string checkpoint, log;
  std::string hypothesis; // file of translations to score; then no model is needed
  bool perLine = false;
  DecodingOptions decoding;
  std::string chatTemplate; // of records with messages; empty: the model's
};

struct EntryCall {
  std::string entry;
  std::vector<std::string> inputs, outputs, expectations; // NAME=@FILE.npy
  std::string variables, saveVariables, expectedVariables;
  std::optional<uint64_t> seed;
  double tolerance = 1e-4;
  uint64_t repeat = 1;
};

struct CallCommand {
  ArtifactOptions common;
  EntryCall single;
  bool calls = false;     // take calls from the lines of standard input instead of `single`
  bool keepGoing = false; // go on after a call that fails; the error at the end says how many failed
};

struct BenchCommand {
  ArtifactOptions common;
  std::vector<std::string> entries; // none: all but `init`
  uint64_t repeat = 5, warmup = 3;
  int64_t sequences = 0; // 0: as many as fill the tokens with sentences
  std::string ceilings;  // path of an artifact; empty: the one that was built for the target; "none": none
  bool json = false;
  std::string save; // file for the JSON, in addition to the printed report
};

Status runDevices();
Status runTrain(const TrainCommand &command);
Status runAverage(const AverageCommand &command);
Status runMerge(const MergeCommand &command);
Status runExport(const ExportCommand &command);
Status runQuantize(const QuantizeCommand &command);
Status runTranslate(const TranslateCommand &command);
Status runGenerate(const GenerateCommand &command);
Status runServe(const ServeCommand &command);
Status runFill(const FillCommand &command);
Status runEmbed(const EmbedCommand &command);
Status runPredict(const PredictCommand &command);
Status runTokenize(const TokenizeCommand &command);
Status runRender(const RenderCommand &command);
Status runExplain(const ExplainCommand &command);
Status runReport(const ReportCommand &command);
Status runScore(const ScoreCommand &command);
Status runCall(const CallCommand &command);
Status runBench(const BenchCommand &command);

} // namespace heddle::run
