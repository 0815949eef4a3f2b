#include "tools/heddle-reference/Tensors.h"

#include "runtime/core/Safetensors.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::ElementType;
using ::heddle::ErrorKind;
using ::heddle::HostTensor;
using ::heddle::makeError;
using ::heddle::Result;
using ::heddle::SafetensorsEntry;
using ::heddle::Status;
using reference::Array;

Array mlir::heddle::toArray(const ::heddle::TensorView &tensor) {
  Array array(ArrayRef<int64_t>(tensor.shape.data(), tensor.shape.size()));
  auto copy = [&](auto values) { std::copy(values.begin(), values.end(), array.numbers.begin()); };
  if (tensor.type == ElementType::F32)
    copy(tensor.values<float>());
  else
    copy(tensor.values<int32_t>());
  return array;
}

static ElementType elementOf(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) ? ElementType::F32 : ElementType::I32;
}

Result<HostTensor> mlir::heddle::toTensor(const Array &array, Type type) {
  HEDDLE_ASSIGN(HostTensor tensor,
                HostTensor::uninitialized(elementOf(type), {array.shape.begin(), array.shape.end()}));
  auto copy = [&](auto values) {
    for (auto [to, from] : llvm::zip_equal(values, array.numbers))
      to = static_cast<std::decay_t<decltype(to)>>(from);
  };
  if (tensor.type() == ElementType::F32)
    copy(tensor.values<float>());
  else
    copy(tensor.values<int32_t>());
  return tensor;
}

Status mlir::heddle::loadVariables(reference::Interpreter &interpreter, const std::string &path) {
  HEDDLE_ASSIGN(::heddle::SafetensorsReader reader, ::heddle::SafetensorsReader::open(path));
  for (const SafetensorsEntry &entry : reader.entries()) {
    VariableOp variable = interpreter.findVariable(entry.name);
    if (!variable)
      return makeError(ErrorKind::NotFound, path, ": the model has no variable '", entry.name, "'.");
    ArrayRef<int64_t> shape = variable.getTensorType().getShape();
    if (!llvm::equal(entry.shape, shape) || elementOf(variable.getType()) != entry.type)
      return makeError(ErrorKind::InvalidArgument, path, ": '", entry.name, "' is ", describe(entry.type, entry.shape),
                       ", and the model's variable ",
                       describe(elementOf(variable.getType()), std::vector<int64_t>(shape.begin(), shape.end())), ".");
    HEDDLE_ASSIGN(HostTensor tensor, reader.read(entry.name));
    interpreter.setVariable(variable, toArray(tensor));
  }
  return ::heddle::Success();
}

Status mlir::heddle::saveVariables(const reference::Interpreter &interpreter, ModuleOp module,
                                   const std::string &path) {
  llvm::StringSet<> storages;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getStorageAttr())
      storages.insert(*variable.getStorage());
  std::vector<VariableOp> variables;
  std::vector<SafetensorsEntry> entries;
  for (auto variable : module.getOps<VariableOp>()) {
    Type element = variable.getTensorType().getElementType();
    if (storages.contains(variable.getSymName()) || !(element.isF32() || element.isInteger(32)))
      continue;
    ArrayRef<int64_t> shape = variable.getTensorType().getShape();
    variables.push_back(variable);
    entries.push_back({variable.getSymName().str(), elementOf(element), {shape.begin(), shape.end()}});
  }
  HEDDLE_ASSIGN(::heddle::SafetensorsWriter writer, ::heddle::SafetensorsWriter::create(path, entries));
  for (VariableOp variable : variables) {
    HEDDLE_ASSIGN(HostTensor tensor, toTensor(interpreter.getVariable(variable), variable.getType()));
    HEDDLE_CHECK(writer.write(tensor.bytes()));
  }
  return writer.commit();
}
