// Flags that several commands have.
#pragma once

#include "tools/heddle-run/commands/Commands.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace heddle::run {

// In the place of CLI11's own, whose messages have 309 digits, and which let NaN, infinities and numbers that do not
// fit into 64 bits pass.
extern const CLI::Validator kPositive, kNotNegative;
CLI::Validator between(double least, double most);

// Whole numbers: from 1 on, from 0 on, and up to 2^64 - 1.
extern const CLI::Validator kCount, kCountOrNone, kSeed;

void addArtifact(CLI::App *command, ArtifactOptions &options);
CLI::Option *addProfile(CLI::App *command, ArtifactOptions &options);
// To be called after addArtifact and addProfile.
CLI::Option *addSharing(CLI::App *command, ArtifactOptions &options);
// Adds --force, which addBase adds, too.
void addForce(CLI::App *command, ArtifactOptions &options);
void addBase(CLI::App *command, ArtifactOptions &options);
CLI::Option *addDebugNumerics(CLI::App *command, ArtifactOptions &options);
void addDecoding(CLI::App *command, DecodingOptions &options);

// --src and --tgt, or --text with --documents, or --data; --text is returned.
CLI::Option *addText(CLI::App *command, TextFiles &files, const char *targetPurpose);
// To be called when the command line is read. `instead` is what else might be given: ", or --hyp,".
void requireText(const TextFiles &files, const std::string &instead);
void addSampling(CLI::App *command, SamplingFlags &flags);

// The flags of serve but those of the model.
void addServing(CLI::App *command, ServeCommand &serve);

// The flags of a call.
std::vector<CLI::Option *> addEntryCall(CLI::App *command, EntryCall &call);

} // namespace heddle::run
