// Fine-tuning by adapters of low rank (Hu et al. 2021, section 4.1): the published weights W stay as they are, and
// beside each chosen one two small matrices are trained: y = x W + alpha / rank (x A) B, A of in x rank, B of rank x
// out. In training dropout acts on the x that A reads, as in PEFT. Whole weights may be trained beside the adapters,
// such as the embedding: PEFT calls their modules `modules_to_save`.
#ifndef HEDDLE_COMPILER_DERIVE_ADAPTERS_H
#define HEDDLE_COMPILER_DERIVE_ADAPTERS_H

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
  /// published module, or the end of such a name behind a point: `q_proj`.
  std::vector<std::string> targets;
  /// Names of modules whose weights and biases are trained whole, with the same ways to name them.
  std::vector<std::string> modulesToSave;
};

/// Of "rank=8,alpha=16,dropout=0.1,targets=query,value,modules_to_save=lm_head": keys in any order, each with a
/// default; `targets` and `modules_to_save` take all names that follow them. An error says which part is wrong.
llvm::Expected<AdapterOptions> parseAdapters(StringRef text);

/// Of the adapter_config.json that PEFT has written: rank, alpha, dropout, targets and saved modules of its adapter. An
/// error says what Heddle's adapters do not have.
llvm::Expected<AdapterOptions> parseAdapterConfig(StringRef json);

/// `heddle-add-adapters` with options that are parsed already.
std::unique_ptr<Pass> createAddAdaptersPass(AdapterOptions options);

} // namespace mlir::heddle

#endif
