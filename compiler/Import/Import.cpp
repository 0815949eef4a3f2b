#include "compiler/Import/Import.h"

#include "compiler/Import/Entries.h"
#include "compiler/Import/HuggingFace.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::heddle;

/// Completes what the description says of another program's tensors by the shapes of the weights made of them. Fails
/// where the model has a weight that there is no tensor for.
static LogicalResult addShapes(const Graph &graph, llvm::json::Object &tensors) {
  for (const Variable &variable : graph.getVariables()) {
    if (variable.kind != VariableKind::Weight)
      continue;
    llvm::json::Object *tensor = tensors.getObject(variable.name.getValue());
    if (!tensor)
      return emitError(variable.where) << "the weight '" << variable.name.getValue() << "' comes with a key that the "
                                       << "published model does not have; leave that key as it is";
    (*tensor)["shape"] = llvm::json::Array(variable.type.getShape());
  }
  return success();
}

static OwningOpRef<ModuleOp> build(MLIRContext *context, FailureOr<Description> description) {
  if (failed(description))
    return {};
  context->loadDialect<HeddleDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(Location(description->start));
  Graph graph(*module, *description);
  if (description->text) {
    language::Limits limits{description->vocabSize, description->maxTokens, description->maxSequences,
                            description->maxLength};
    if (failed(description->text->elaborate(*module, limits)))
      return {};
  } else {
    Entries(graph, *description).build();
  }
  if (!description->tensors.empty() && failed(addShapes(graph, description->tensors)))
    return {};
  std::string json = llvm::formatv("{0}", llvm::json::Value(description->toJSON()));
  (*module)->setAttr("heddle.description", StringAttr::get(context, json));
  if (failed(verify(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> heddle::importDescription(MLIRContext *context, StringRef path,
                                                const DescriptionChanges &changes) {
  return build(context, readDescription(context, path, changes));
}

OwningOpRef<ModuleOp> heddle::importText(MLIRContext *context, StringRef path, const DescriptionChanges &changes) {
  return build(context, readTextDescription(context, path, changes));
}

OwningOpRef<ModuleOp> heddle::importHuggingFace(MLIRContext *context, StringRef folder,
                                                const DescriptionChanges &changes) {
  return build(context, readHuggingFaceFolder(context, folder, changes));
}
