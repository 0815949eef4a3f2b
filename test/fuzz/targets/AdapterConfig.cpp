// The configuration of an adapter that PEFT wrote, as heddle-run and heddle-compile read it.
#include "runtime/train/AdapterConfig.h"
#include "compiler/Graph/Derive/Adapters.h"
#include "compiler/Model/Import/Nesting.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  Result<AdapterConfig> config = AdapterConfig::read(folderWith(kAdapterConfigFile, bytes) / kAdapterConfigFile);
  if (config) {
    (void)config->rankOf("model.layers.0.self_attn.q_proj");
    (void)config->scaleOf("model.layers.0.self_attn.q_proj");
    (void)config->saves("lm_head");
  }
  std::string content(text(bytes));
  if (mlir::heddle::nestsTooDeepJSON(content)) // heddle-compile checks this first
    return;
  if (llvm::Expected<mlir::heddle::AdapterOptions> options = mlir::heddle::parseAdapterConfig(content); !options)
    llvm::consumeError(options.takeError());
}

} // namespace heddle::fuzz
