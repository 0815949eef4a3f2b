// The flags of train.
#include "runtime/ranks/Launcher.h"
#include "tools/heddle-run/commands/Flags.h"

#include <map>
#include <tuple>

namespace heddle::run {

void addTraining(CLI::App *command, TrainCommand &train) {
  TrainingOptions &options = train.training;
  addArtifact(command, train.common);
  addBase(command, train.common);
  CLI::Option *numerics = addDebugNumerics(command, train.common);
  addText(command, options.text, "Target sentences, one per line");
  addChatTemplate(command, options.chatTemplate);
  CLI::Option *validText = command->add_option("--valid-text", options.validation.text, "Plain text to validate on");
  for (auto [flag, file, purpose] : {std::tuple("--valid-src", &options.validation.source, "Source"),
                                     std::tuple("--valid-tgt", &options.validation.target, "Target")})
    command->add_option(flag, *file, std::string(purpose) + " sentences to validate on")->excludes(validText);
  command->add_option("--valid-data", options.validation.data, "Records to validate on")
      ->excludes(validText)
      ->excludes(command->get_option("--valid-src"))
      ->excludes(command->get_option("--valid-tgt"));
  command->parse_complete_callback([&options] { requireText(options.text, ""); });
  command->add_option("--checkpoint", options.checkpoint, "Folder of the training run's checkpoints")->required();
  command->add_option("--steps", options.steps, "All steps, including those before a --resume")
      ->check(kCount)
      ->capture_default_str();
  CLI::Option *resume = command->add_flag("--resume", options.resume, "Continue from the newest checkpoint");
  CLI::Option *restart =
      command
          ->add_flag("--restart-from-checkpoint", train.restarts,
                     "Continue if there is a checkpoint, otherwise begin: for launchers that restart a training run")
          ->excludes(resume);
  CLI::Option *verify =
      command
          ->add_flag(
              "--verify-resume", train.verifyResume,
              "Check that resuming is exact: train --steps steps in one run, and again with a stop in the middle, and\n"
              "compare hashes of the weights and the optimizer state; leaves no files")
          ->excludes(resume)
          ->excludes(restart);
  command->add_option("--seed", options.seed, "Seed of the weights, dropout and the order of the data (default: 1)")
      ->check(kSeed);
  command->add_option("--log", train.log, "Write a record of each step as a line of JSON");
  command->add_option("--tensorboard", train.tensorboard, "Folder for TensorBoard's event files");
  command->add_option("--vocab", options.vocabulary,
                      "A SentencePiece model, a folder with the vocabulary of a language model, or a checkpoint\n"
                      "(default: the artifact's vocabulary; if it has none, one is learnt from the text)");
  command->add_option("--weights", options.weights,
                      "Begin with the weights and the vocabulary of this checkpoint or published model");
  command
      ->add_option("--vocab-type", options.vocabularyType,
                   "How a vocabulary is learnt: bpe, unigram or word (whole words)")
      ->check(CLI::IsMember({"bpe", "unigram", "word"}))
      ->capture_default_str();
  command->add_option("--shuffle-window", options.windowLines, "Lines that are shuffled and sorted by length at once")
      ->check(kCount)
      ->capture_default_str();
  command
      ->add_option("--batch-sequences", options.batchSequences,
                   "The most pairs, sequences or records of a batch (default: as compiled)")
      ->check(kCount);
  command
      ->add_option("--batch-tokens", options.batchTokens,
                   "The most tokens of a batch on each side (default: as compiled)")
      ->check(kCount);
  command->add_option("--accumulate", options.microBatches, "Batches whose gradients are summed before each step")
      ->check(kCount)
      ->capture_default_str();
  command->add_option("--validate-every", options.validateEvery, "Steps between validations; 0: only at the end")
      ->check(kCountOrNone)
      ->capture_default_str();
  command->add_flag("--validate-bleu", options.validateBleu,
                    "At each validation, also translate the validation text greedily and log the BLEU");
  command
      ->add_option("--patience", options.patience,
                   "End training after this many validations in a row without a better loss; 0: never")
      ->check(kCountOrNone);
  command
      ->add_option("--save-every", options.saveEvery,
                   "Steps between checkpoints; 0: at the end, and after the best validation")
      ->check(kCountOrNone)
      ->capture_default_str();
  CLI::Option *profile = addProfile(command, train.common)->excludes(numerics)->excludes(verify);
  command
      ->add_option_function<std::string>(
          "--profile-steps",
          [&train](const std::string &text) {
            train.profiledSteps = StepWindow::parse(text);
            if (!train.profiledSteps)
              throw CLI::ValidationError("--profile-steps", "'" + text + "' is not FIRST:COUNT, two numbers from 1 on");
          },
          "The steps of this run that --profile records, counted from 1 (default: 3:5). The run's start is "
          "recorded,\n"
          "too, and the first validation and checkpoint after these steps")
      ->needs(profile)
      ->type_name("FIRST:COUNT");
  CLI::Option *rank =
      command
          ->add_option(
              "--rank", train.ranks.rank,
              "The number of this process among those that train together, from 0 (default: from mpirun, torchrun\n"
              "or srun)")
          ->check(kCountOrNone);
  CLI::Option *ranks = command
                           ->add_option("--ranks", train.ranks.ranks,
                                        "How many processes train together; the model is compiled with --shard")
                           ->check(kCount)
                           ->needs(rank);
  rank->needs(ranks);
  command
      ->add_option("--rendezvous", train.ranks.rendezvous,
                   "Where they meet: tcp:HOST:PORT, file:PATH or mpi (default: from the launcher)")
      ->check([](const std::string &value) {
        return parseRendezvous(value).ok() ? "" : "'" + value + "' is no place: give tcp:HOST:PORT, file:PATH or mpi";
      });
  command->add_option("--ranks-secret-file", train.ranks.secretFile,
                      "A file with the secret that they share, for tcp (default: the variable HEDDLE_RANKS_SECRET)");
  static const std::map<std::string, TransportChoice> transports{
      {"auto", TransportChoice::Auto}, {"nccl", TransportChoice::Nccl}, {"mpi", TransportChoice::Mpi}};
  command
      ->add_option_function<std::string>(
          "--transport",
          [&train](const std::string &name) {
            auto choice = transports.find(name);
            if (choice == transports.end())
              throw CLI::ValidationError("--transport", "'" + name + "' is none of auto, nccl and mpi");
            train.transport = choice->second;
          },
          "What carries their gradients: nccl (between CUDA devices), mpi (Open MPI, through host memory) "
          "or auto (nccl\n"
          "if each has a CUDA device of its own, otherwise mpi; the default)")
      ->type_name("NAME");
  command
      ->add_option("--timeout", train.timeout,
                   "Seconds that one of them may make no progress while others wait for it; then all end")
      ->check(kPositive)
      ->capture_default_str();
  command
      ->add_option("--keep-last", options.keepLast, "Checkpoints to keep, beside the checkpoint of the best validation")
      ->check(kCount)
      ->capture_default_str();
}

} // namespace heddle::run
