// Fine-tuning by low-rank adapters (Hu et al. 2021, section 4.1). The published weights W stay as they are, and two
// small matrices beside each chosen weight are trained: y = x W + alpha / rank (x A) B, with A of in x rank and B of
// rank x out. In training, dropout acts on the x that A reads, as in PEFT. Whole weights, such as the embedding, may be
// trained beside the adapters: PEFT calls their modules `modules_to_save`. In a mixture of experts, each expert has an A and
// a B, which stand one below the other.
#pragma once

#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::heddle {

struct AdapterOptions {
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  /// Names of linear transformations: `query` means every `....query.weight`. A target may also be the name of a
  /// published module, or the end of such a name after a dot: `q_proj`.
  std::vector<std::string> targets;
  /// Names of modules whose weights and biases are trained whole. They are named in the same ways.
  std::vector<std::string> modulesToSave;

  /// Without targets: queries and values.
  void addDefaults();
};

/// Parses "rank=8,alpha=16,dropout=0.1,targets=query,value,modules_to_save=lm_head". Keys come in any order, and each
/// has a default. `targets` and `modules_to_save` take all names that follow them. The error says which part is wrong.
llvm::Expected<AdapterOptions> parseAdapters(StringRef text);

/// Reads the adapter_config.json of PEFT: the rank, alpha, dropout, targets and saved modules of its adapter. The error
/// says what Heddle's adapters do not support.
llvm::Expected<AdapterOptions> parseAdapterConfig(StringRef json);

/// `heddle-add-adapters` with parsed options.
std::unique_ptr<Pass> createAddAdaptersPass(AdapterOptions options);

} // namespace mlir::heddle
