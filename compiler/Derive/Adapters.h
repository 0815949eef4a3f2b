// Fine-tuning by adapters of low rank (Hu et al. 2021, section 4.1): the published weights W stay as they are, and
// beside each chosen one two small matrices are trained: y = x W + alpha / rank (x A) B, A of in x rank, B of rank x
// out. In training dropout acts on the x that A reads, as in PEFT.
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
};

/// Of "rank=8,alpha=16,dropout=0.1,targets=query,value": keys in any order, each with a default; `targets` takes all
/// names that follow it. An error says which part is wrong.
llvm::Expected<AdapterOptions> parseAdapters(StringRef text);

/// Of the adapter_config.json that PEFT has written: rank, alpha, dropout and targets of its adapter. An error says
/// what Heddle's adapters do not have.
llvm::Expected<AdapterOptions> parseAdapterConfig(StringRef json);

/// `heddle-add-adapters` with options that are parsed already.
std::unique_ptr<Pass> createAddAdaptersPass(AdapterOptions options);

} // namespace mlir::heddle

#endif
