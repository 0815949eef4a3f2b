// Operands: registers, special registers, constants and the addresses of variables.
#include "test/cuda/emulator/Translate.h"

#include <bit>
#include <cstddef>

namespace heddle::emulator {

const Operand &Translator::operand(size_t i) const {
  if (i >= at->operands.size())
    fail("operand " + std::to_string(i + 1) + " is missing");
  return at->operands[i];
}

std::vector<Type> Translator::types() const {
  std::vector<Type> found;
  for (size_t i = 1; i < at->opcode.size(); ++i)
    if (Type type = parseType(at->opcode[i]); type.kind != Type::None)
      found.push_back(type);
  return found;
}

Type Translator::lastType() const {
  std::vector<Type> found = types();
  if (found.empty())
    fail("the instruction has no type");
  return found.back();
}

const Type *Translator::registerType(const std::string &name) const {
  return outwards([&](unsigned scope) -> const Type * {
    auto &registers = function.scopes[scope].registers;
    auto found = registers.find(name);
    return found == registers.end() ? nullptr : &found->second;
  });
}

Translator::Value *Translator::slot(const std::string &name) {
  Value *found = outwards([&](unsigned scope) -> Value * {
    auto found = slots.find({scope, name});
    return found == slots.end() ? nullptr : found->second;
  });
  if (!found)
    fail("unknown register " + name);
  return found;
}

const Variable *Translator::variable(const std::string &name, unsigned &where) const {
  const Variable *found = outwards([&](unsigned scope) -> const Variable * {
    where = scope;
    auto &variables = function.scopes[scope].variables;
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : &found->second;
  });
  if (found)
    return found;
  where = 0;
  for (const auto *list : {&function.parameters, &function.results})
    for (const Variable &one : *list)
      if (one.name == name)
        return &one;
  where = ~0u;
  return layout.ptx->findVariable(name);
}

Translator::Value *Translator::symbolAddress(const std::string &name) {
  unsigned scope = 0;
  const Variable *found = variable(name, scope);
  if (!found)
    fail("unknown name " + name);
  switch (found->space) {
  case Space::Global:
  case Space::Const:
    if (auto global = layout.globals.find(name); global != layout.globals.end())
      return builder.getInt64(global->second);
    fail("variable " + name + " is defined nowhere");
  case Space::Shared:
    if (auto place = offsets.find({scope, name}); place != offsets.end())
      return builder.getInt64(place->second);
    if (auto place = layout.shared.find(name); place != layout.shared.end())
      return builder.getInt64(place->second);
    fail("dynamic shared memory in a device function is not known");
  case Space::Local:
    return builder.CreateAdd(localBase, builder.getInt64(offsets.at({scope, name})));
  case Space::Param:
    return builder.CreatePtrToInt(paramSlots.at({scope, name}), builder.getInt64Ty());
  case Space::Cluster:
  case Space::Generic:
    break;
  }
  fail("unknown name " + name);
}

Translator::Value *Translator::threadField(size_t offset, llvm::Type *type, bool constant) {
  auto *load = builder.CreateLoad(type, builder.CreateConstGEP1_64(builder.getInt8Ty(), thread, offset));
  if (constant)
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

Translator::Value *Translator::special(const std::string &name) {
  static const std::map<std::string, size_t> triples = {{"%tid", offsetof(Thread, tid)},
                                                        {"%ntid", offsetof(Thread, ntid)},
                                                        {"%ctaid", offsetof(Thread, ctaid)},
                                                        {"%nctaid", offsetof(Thread, nctaid)},
                                                        {"%clusterid", offsetof(Thread, clusterid)},
                                                        {"%nclusterid", offsetof(Thread, nclusterid)},
                                                        {"%cluster_ctaid", offsetof(Thread, clusterCtaid)},
                                                        {"%cluster_nctaid", offsetof(Thread, clusterNctaid)}};
  static const std::map<std::string, size_t> scalars = {{"%laneid", offsetof(Thread, lane)},
                                                        {"%warpid", offsetof(Thread, warpIndex)},
                                                        {"%cluster_ctarank", offsetof(Thread, clusterRank)},
                                                        {"%cluster_nctarank", offsetof(Thread, clusterSize)},
                                                        {"%nwarpid", offsetof(Thread, warpCount)},
                                                        {"%total_smem_size", offsetof(Thread, sharedBytes)},
                                                        {"%dynamic_smem_size", offsetof(Thread, dynamicBytes)}};
  size_t dot = name.find('.');
  std::string base = name.substr(0, dot);
  if (dot != std::string::npos && dot + 2 == name.size() && name[dot + 1] >= 'x' && name[dot + 1] <= 'z') {
    size_t component = static_cast<size_t>(name[dot + 1] - 'x');
    if (auto found = triples.find(base); found != triples.end())
      return threadField(found->second + 4 * component, builder.getInt32Ty());
  }
  if (auto found = scalars.find(name); found != scalars.end())
    return threadField(found->second, builder.getInt32Ty());
  if (name == "WARP_SZ")
    return builder.getInt32(32);
  if (name == "%smid" || name == "%gridid" || name == "%envreg0")
    return builder.getInt32(0);
  if (name == "%nsmid")
    return builder.getInt32(1);
  if (name == "%clock64" || name == "%clock" || name == "%globaltimer" || name == "%clock_hi" ||
      name == "%globaltimer_lo")
    return call("heddle_clock", builder.getInt64Ty(), {});
  if (name.rfind("%lanemask_", 0) == 0) {
    Value *lane = threadField(offsetof(Thread, lane), builder.getInt32Ty());
    Value *own = builder.CreateShl(builder.getInt32(1), lane);
    Value *below = builder.CreateSub(own, builder.getInt32(1));
    std::string which = name.substr(10);
    if (which == "eq")
      return own;
    if (which == "lt")
      return below;
    if (which == "le")
      return builder.CreateOr(below, own);
    if (which == "ge")
      return builder.CreateNot(below);
    if (which == "gt")
      return builder.CreateNot(builder.CreateOr(below, own));
  }
  return nullptr;
}

Translator::Value *Translator::read(const Operand &operand, unsigned bits) {
  llvm::IntegerType *type = integerType(bits);
  switch (operand.kind) {
  case Operand::Integer:
    return llvm::ConstantInt::get(type, operand.value);
  case Operand::Real:
    if (operand.realBits == 64 && bits == 32)
      return builder.getInt32(std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value))));
    if (operand.realBits != bits)
      fail("a number of another type is needed");
    return llvm::ConstantInt::get(type, operand.value);
  case Operand::Vector: {
    auto part = static_cast<unsigned>(bits / operand.items.size());
    Value *whole = llvm::ConstantInt::get(type, 0);
    for (size_t i = operand.items.size(); i-- > 0;)
      whole = builder.CreateOr(builder.CreateShl(whole, part), builder.CreateZExt(read(operand.items[i], part), type));
    return whole;
  }
  case Operand::Address:
    fail("an address is no value");
  case Operand::Name:
    break;
  }
  Value *value = nullptr;
  if (const Type *registered = registerType(operand.name))
    value = builder.CreateLoad(integerType(registered->totalBits()), slot(operand.name));
  else if (value = special(operand.name); !value)
    value = symbolAddress(operand.name);
  if (operand.value)
    value = builder.CreateAdd(value, llvm::ConstantInt::get(value->getType(), operand.value));
  if (operand.negated)
    value = builder.CreateNot(value);
  return builder.CreateZExtOrTrunc(value, type);
}

Translator::Value *Translator::predicate(const Operand &operand) { return read(operand, 1); }

void Translator::write(const Operand &operand, Value *value, bool isSigned) {
  if (operand.kind == Operand::Vector) {
    unsigned part = static_cast<unsigned>(value->getType()->getIntegerBitWidth() / operand.items.size());
    for (size_t i = 0; i < operand.items.size(); ++i)
      write(operand.items[i], builder.CreateTrunc(builder.CreateLShr(value, i * part), integerType(part)));
    return;
  }
  if (operand.kind != Operand::Name)
    fail("the result must go to a register");
  writeName(operand.name, value, isSigned);
}

void Translator::writeName(const std::string &name, Value *value, bool isSigned) {
  if (name == "_")
    return;
  const Type *type = registerType(name);
  if (!type)
    fail("unknown register " + name);
  llvm::IntegerType *integer = integerType(type->totalBits());
  value = isSigned ? builder.CreateSExtOrTrunc(value, integer) : builder.CreateZExtOrTrunc(value, integer);
  builder.CreateStore(value, slot(name));
}

} // namespace heddle::emulator
