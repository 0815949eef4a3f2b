#include "tools/heddle-reference/DeviceSession.h"

#include "compiler/Program/Emit/Emit.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/artifact/Artifact.h"
#include "tools/heddle-reference/Tensors.h"

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::HostTensor;
using ::heddle::Session;
using ::heddle::Status;

std::unique_ptr<Session> mlir::heddle::compileForDevice(ModuleOp module, const ReferenceCommand &command) {
  auto fail = [&](const Twine &message) {
    emitError(UnknownLoc::get(module.getContext())) << message;
    return nullptr;
  };
  PassManager passes(module.getContext());
  buildPhasePipeline(passes, Phase::Prepare, Phase::Plan, command.pipeline);
  if (failed(passes.run(module)))
    return nullptr;
  PlannedTarget planned{command.pipeline.profile, module};
  FailureOr<Artifact> artifact = emitArtifact(planned);
  if (failed(artifact))
    return nullptr;
  auto *bytes = reinterpret_cast<const std::byte *>(artifact->bytes.data());
  auto loaded = ::heddle::Artifact::fromBytes({bytes, bytes + artifact->bytes.size()}, command.model);
  if (!loaded.ok())
    return fail(loaded.message());
  auto session = Session::open(std::move(*loaded), {.device = command.device});
  if (!session.ok())
    return fail(session.message());
  return std::move(*session);
}

Status mlir::heddle::copyToDevice(const reference::Interpreter &interpreter, Session &session) {
  for (const ::heddle::VariableInfo &info : session.variables())
    if (VariableOp variable = interpreter.findVariable(info.name); variable && !info.isStorage) {
      HEDDLE_ASSIGN(HostTensor value, toTensor(interpreter.getVariable(variable), variable.getType()));
      HEDDLE_CHECK(session.writeVariable(info.name, value));
    }
  return ::heddle::Success();
}

Status mlir::heddle::copyFromDevice(Session &session, reference::Interpreter &interpreter) {
  for (const ::heddle::VariableInfo &info : session.variables())
    if (VariableOp variable = interpreter.findVariable(info.name); variable && !info.isStorage) {
      HEDDLE_ASSIGN(HostTensor value, session.readVariable(info.name));
      interpreter.setVariable(variable, toArray(value));
    }
  return ::heddle::Success();
}
