// Flags that several commands have.
#pragma once

#include "tools/heddle-run/commands/Commands.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace heddle::run {

// Replace CLI11's own validators, whose messages have 309 digits, and which accept NaN, infinities and numbers that do
// not fit into 64 bits.
extern const CLI::Validator kPositive, kNotNegative;
CLI::Validator between(double least, double most);

// Integers: at least 1, at least 0, and up to 2^64 - 1.
extern const CLI::Validator kCount, kCountOrNone, kSeed;

void addArtifact(CLI::App *command, ArtifactOptions &options);
CLI::Option *addProfile(CLI::App *command, ArtifactOptions &options);
// Adds the artifact, its weights with --base, and --profile, which all commands that run a trained model have.
void addTrained(CLI::App *command, ArtifactOptions &options, std::string &checkpoint, const char *whatCheckpoint);
// Call it after addArtifact and addProfile.
CLI::Option *addSharing(CLI::App *command, ArtifactOptions &options);
// Adds --force. addBase adds it, too.
void addForce(CLI::App *command, ArtifactOptions &options);
void addBase(CLI::App *command, ArtifactOptions &options);
CLI::Option *addDebugNumerics(CLI::App *command, ArtifactOptions &options);
void addDecoding(CLI::App *command, DecodingOptions &options);

// Adds --src and --tgt, --text with --documents, and --data; returns --text.
CLI::Option *addText(CLI::App *command, TextFiles &files, const char *targetPurpose);
// Call it after the command line is parsed. `instead` names an alternative for the error message: ", or --hyp,".
void requireText(const TextFiles &files, const std::string &instead);
void addSampling(CLI::App *command, SamplingFlags &flags);

// Adds all flags of train.
void addTraining(CLI::App *command, TrainCommand &train);
CLI::Option *addChatTemplate(CLI::App *command, std::string &path);

// Adds the flags of serve, except for the model's.
void addServing(CLI::App *command, ServeCommand &serve);

// Adds the flags of a call.
std::vector<CLI::Option *> addEntryCall(CLI::App *command, EntryCall &call);

} // namespace heddle::run
