#include "compiler/Model/Language/Tasks.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::heddle::language;
using ::heddle::Labelling;

/// The parts that only this task has, and `logits`. A trained task also has a loss, of the inputs of its logits, and a
/// learning rate.
static const std::vector<TaskInfo> kTasks = [] {
  std::vector<TaskInfo> tasks = {
      // Translate a source text: the target is generated token by token, with attention to `memory`.
      {"translate", {{"memory", "memory", {"source"}, true}, {"logits", "logits", {"target"}, true}}},
      // Predict the next token of a text.
      {"language", {{"logits", "logits", {"target"}, true}}},
      // Compute a vector for each token of a text, and optionally one for the whole text.
      {"encode",
       {{"hidden", "hidden", {"source"}, true},
        {"pooled", "pooled", {"source"}, false},
        {"logits", "logits", {"source"}, false}}},
      // Predict a label for each text.
      {"classify", {{"hidden", "hidden", {"source"}, false}, {"logits", "logits", {"source"}, true}}},
      // Predict a label for each token, or for some tokens.
      {"tag", {{"hidden", "hidden", {"source"}, false}, {"logits", "logits", {"source"}, true}}},
      // Predict a label or a grade for each pair of texts.
      {"pair", {{"logits", "logits", {"left", "right"}, true}}},
      // Compute a vector for each text, such that the vectors of texts that belong together are near.
      {"embed",
       {{"hidden", "hidden", {"source"}, true},
        {"pooled", "pooled", {"source"}, true},
        {"logits", "logits", {"source"}, true}}},
      // Predict hidden words, and whether the second of two sentences follows the first (Devlin et al., 2018, 3.1).
      {"pretrain",
       {{"hidden", "hidden", {"source"}, true},
        {"logits", "logits", {"source"}, true},
        {"next", "next", {"source"}, true}}}};
  for (TaskInfo &task : tasks) {
    bool isEncoder = task.name == kEncode;
    task.parts.insert(task.parts.end(),
                      {{"loss", "token_loss", task.parts.back().sides, !isEncoder}, {"rate", "rate", {kStep}, false}});
    if (isEncoder)
      task.labels = Labelling::Words; // an encoder that is trained predicts some of its tokens
  }
  return tasks;
}();

const TaskInfo *mlir::heddle::language::findTask(StringRef name) {
  return &*llvm::find_if(kTasks, [&](const TaskInfo &task) { return task.name == name; });
}
