#include "test/cuda/emulator/Translate.h"

#include <algorithm>
#include <cstddef>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <sstream>

namespace heddle::emulator {

using llvm::BasicBlock;

namespace {

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

} // namespace

void ModuleLayout::placeShared() {
  std::set<std::string> used;
  auto use = [&](const Operand &operand, auto &self) -> void {
    used.insert(operand.name);
    for (const Operand &item : operand.items)
      self(item, self);
  };
  for (const Function &function : ptx->functions)
    if (!function.entry)
      for (const Instruction &instruction : function.body)
        for (const Operand &operand : instruction.operands)
          use(operand, use);
  auto place = [&](const std::string &name, const Variable &variable) {
    sharedBytes = static_cast<uint32_t>(roundUp(sharedBytes, variable.alignment));
    shared[name] = sharedBytes;
    sharedBytes += static_cast<uint32_t>(variable.size);
  };
  for (const Variable &variable : ptx->variables)
    if (variable.space == Space::Shared && variable.size && used.count(variable.name))
      place(variable.name, variable);
  for (const Function &function : ptx->functions)
    if (!function.entry)
      for (size_t scope = 0; scope < function.scopes.size(); ++scope)
        for (const auto &[name, variable] : function.scopes[scope].variables)
          if (variable.space == Space::Shared)
            place(function.name + "/" + std::to_string(scope) + "/" + name, variable);
}

KernelLayout layOutParameters(const Function &function) {
  KernelLayout kernel;
  for (const Variable &parameter : function.parameters) {
    // A pointer parameter's alignment is that of its target.
    auto alignment =
        static_cast<uint32_t>(std::min<uint64_t>(parameter.alignment, std::max<uint64_t>(parameter.size, 1)));
    if (parameter.size > 8)
      alignment = parameter.alignment;
    kernel.paramBytes = static_cast<uint32_t>(roundUp(kernel.paramBytes, alignment));
    kernel.paramOffsets.push_back(kernel.paramBytes);
    kernel.paramSizes.push_back(static_cast<uint32_t>(parameter.size));
    kernel.paramBytes += static_cast<uint32_t>(parameter.size);
  }
  return kernel;
}

std::unique_ptr<llvm::Module> translate(ModuleLayout &layout, const Function &function, KernelLayout &kernel,
                                        llvm::LLVMContext &context) {
  return Translator(layout, function, kernel, context).run();
}

Translator::Translator(ModuleLayout &layout, const Function &function, KernelLayout &kernel, llvm::LLVMContext &context)
    : layout(layout), function(function), kernel(kernel),
      module(std::make_unique<llvm::Module>(function.name, context)), builder(context) {}

void Translator::fail(const std::string &message) const {
  if (at)
    throw PtxError(at->line, message + " in '" + at->text + "'");
  throw PtxError(function.line, message);
}

const std::map<std::string, Translator::Entry> &Translator::handlers() {
  static const std::map<std::string, Entry> table = [] {
    std::map<std::string, Entry> all = {
        {"bra", {&Translator::branch, "uni"}},
        {"brx", {&Translator::branchIndexed, "idx uni"}},
        {"ret", {&Translator::ret, "uni"}},
        {"exit", {&Translator::exit, ""}},
        {"trap", {&Translator::trap, ""}},
        {"brkpt", {&Translator::trap, ""}},
        {"call", {&Translator::callFunction, "uni"}},
    };
    addArithmetic(all);
    addConversions(all);
    addMemory(all);
    addCollectives(all);
    addClusters(all);
    addMbarriers(all);
    addWarpgroups(all);
    return all;
  }();
  return table;
}

BasicBlock *Translator::newBlock(const char *name) {
  return BasicBlock::Create(builder.getContext(), name, translated);
}

std::unique_ptr<llvm::Module> Translator::run() {
  declare();
  builder.SetInsertPoint(newBlock("entry"));
  for (size_t scope = 0; scope < function.scopes.size(); ++scope)
    for (const auto &[name, type] : function.scopes[scope].registers) {
      llvm::IntegerType *integer = integerType(type.totalBits());
      Value *at = builder.CreateAlloca(integer);
      // A register that is read before it is written may have any value; here it is always zero.
      builder.CreateStore(llvm::ConstantInt::get(integer, 0), at);
      slots[{static_cast<unsigned>(scope), name}] = at;
    }
  carry = builder.CreateAlloca(builder.getInt1Ty());
  builder.CreateStore(builder.getFalse(), carry);
  placeVariables();
  for (const Scope &scope : function.scopes)
    for (const auto &[name, index] : scope.labels)
      if (!blocks.count(index))
        blocks[index] = newBlock("label");
  for (size_t i = 0; i <= function.body.size(); ++i) {
    if (auto found = blocks.find(i); found != blocks.end()) {
      if (!ended)
        builder.CreateBr(found->second);
      builder.SetInsertPoint(found->second);
      ended = false;
    }
    if (i == function.body.size())
      break;
    if (ended) {
      builder.SetInsertPoint(newBlock("unreachable"));
      ended = false;
    }
    at = &function.body[i];
    instruction();
  }
  at = nullptr;
  if (!ended)
    returnFromFunction();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyFunction(*translated, &stream))
    fail("the translation of " + function.name + " is malformed (a fault of the emulator): " + problem);
  return std::move(module);
}

void Translator::declare() {
  llvm::Type *pointer = builder.getPtrTy();
  std::vector<llvm::Type *> parameters = {pointer};
  if (!function.entry)
    parameters.resize(1 + function.results.size() + function.parameters.size(), pointer);
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), parameters, false);
  translated = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, function.name, module.get());
  translated->addFnAttr(llvm::Attribute::NoUnwind);
  thread = translated->getArg(0);
}

void Translator::placeVariables() {
  llvm::Type *pointer = builder.getPtrTy();
  if (function.entry) {
    Value *params = threadField(offsetof(Thread, params), pointer);
    for (size_t i = 0; i < function.parameters.size(); ++i)
      paramSlots[{0, function.parameters[i].name}] =
          builder.CreateConstGEP1_64(builder.getInt8Ty(), params, kernel.paramOffsets[i]);
  } else {
    unsigned argument = 1;
    for (const Variable &result : function.results)
      paramSlots[{0, result.name}] = translated->getArg(argument++);
    for (const Variable &parameter : function.parameters)
      paramSlots[{0, parameter.name}] = translated->getArg(argument++);
  }
  uint32_t local = 0;
  kernel.sharedBytes = layout.sharedBytes;
  auto placeShared = [&](const Variable &variable) {
    kernel.sharedBytes = static_cast<uint32_t>(roundUp(kernel.sharedBytes, variable.alignment));
    uint32_t offset = kernel.sharedBytes;
    kernel.sharedBytes += static_cast<uint32_t>(variable.size);
    return offset;
  };
  for (unsigned scope = 0; scope < function.scopes.size(); ++scope) {
    // Sorted by name, so that a layout does not depend on a hash.
    std::map<std::string, const Variable *> sorted;
    for (const auto &[name, variable] : function.scopes[scope].variables)
      sorted[name] = &variable;
    for (const auto &[name, variable] : sorted) {
      if (variable->space == Space::Param) {
        auto *slot =
            builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), std::max<uint64_t>(variable->size, 1)));
        slot->setAlignment(llvm::Align(16));
        paramSlots[{scope, name}] = slot;
      } else if (variable->space == Space::Local) {
        local = static_cast<uint32_t>(roundUp(local, variable->alignment));
        offsets[{scope, name}] = local;
        local += static_cast<uint32_t>(variable->size);
      } else if (variable->space == Space::Shared) {
        offsets[{scope, name}] = function.entry
                                     ? placeShared(*variable)
                                     : layout.shared.at(function.name + "/" + std::to_string(scope) + "/" + name);
      } else {
        throw PtxError(variable->line, "a variable of this space inside of a function is not known");
      }
    }
  }
  if (function.entry) {
    std::set<std::string> used;
    auto use = [&](const Operand &operand, auto &self) -> void {
      used.insert(operand.name);
      for (const Operand &item : operand.items)
        self(item, self);
    };
    for (const Instruction &instruction : function.body)
      for (const Operand &operand : instruction.operands)
        use(operand, use);
    for (const Variable &variable : layout.ptx->variables) {
      if (variable.space != Space::Shared || !used.count(variable.name) || layout.shared.count(variable.name))
        continue;
      if (variable.size)
        offsets[{~0u, variable.name}] = placeShared(variable);
    }
    // Dynamic shared memory follows the static part, with an alignment that suits every use.
    uint32_t alignment = 16;
    for (const Variable &variable : layout.ptx->variables)
      if (variable.space == Space::Shared && !variable.size)
        alignment = std::max(alignment, variable.alignment);
    for (const Variable &variable : layout.ptx->variables)
      if (variable.space == Space::Shared && !variable.size && used.count(variable.name)) {
        kernel.sharedBytes = static_cast<uint32_t>(roundUp(kernel.sharedBytes, alignment));
        offsets[{~0u, variable.name}] = kernel.sharedBytes;
      }
  }
  kernel.localBytes = local;
  if (local) {
    localOld = threadField(offsetof(Thread, localTop), builder.getInt64Ty(), false);
    localBase = builder.CreateAnd(builder.CreateAdd(localOld, builder.getInt64(15)), builder.getInt64(~uint64_t(15)));
    Value *top = builder.CreateAdd(localBase, builder.getInt64(local));
    at = function.body.empty() ? nullptr : &function.body.front();
    branchToBad(builder.CreateICmpULE(top, threadField(offsetof(Thread, localEnd), builder.getInt64Ty())),
                [&] { call("heddle_local_overflow", builder.getVoidTy(), {thread, constantPointer(newSite())}); });
    at = nullptr;
    builder.CreateStore(top, builder.CreateConstGEP1_64(builder.getInt8Ty(), thread, offsetof(Thread, localTop)));
  }
}

// Continues if `good` holds; otherwise runs code that never returns.
void Translator::branchToBad(Value *good, const std::function<void()> &bad) {
  BasicBlock *on = newBlock("good"), *off = newBlock("bad");
  builder.CreateCondBr(good, on, off, llvm::MDBuilder(builder.getContext()).createBranchWeights(1 << 20, 1));
  builder.SetInsertPoint(off);
  bad();
  builder.CreateUnreachable();
  builder.SetInsertPoint(on);
}

void Translator::instruction() {
  auto found = handlers().find(at->opcode[0]);
  if (found == handlers().end())
    fail("unknown instruction " + at->opcode[0]);
  std::istringstream known(found->second.modifiers);
  std::set<std::string> allowed{std::istream_iterator<std::string>(known), std::istream_iterator<std::string>()};
  for (size_t i = 1; i < at->opcode.size(); ++i)
    if (!allowed.count(at->opcode[i]) && parseType(at->opcode[i]).kind == Type::None)
      fail("unknown modifier ." + at->opcode[i]);
  BasicBlock *after = nullptr;
  if (!at->guard.empty()) {
    Operand guard;
    guard.name = at->guard;
    guard.negated = at->guardNegated;
    Value *condition = predicate(guard);
    BasicBlock *guarded = newBlock("guarded");
    after = newBlock("after");
    builder.CreateCondBr(condition, guarded, after);
    builder.SetInsertPoint(guarded);
  }
  (this->*found->second.handler)();
  if (after) {
    if (!ended)
      builder.CreateBr(after);
    builder.SetInsertPoint(after);
    ended = false;
  }
}

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

// Looks up a name from the instruction's scope outwards.
template <typename Find> static auto outwards(const Function &function, unsigned scope, Find find) {
  for (;; scope = function.scopes[scope].parent) {
    if (auto found = find(scope))
      return found;
    if (scope == 0)
      return decltype(find(scope)){};
  }
}

const Type *Translator::registerType(const std::string &name) const {
  return outwards(function, at->scope, [&](unsigned scope) -> const Type * {
    auto &registers = function.scopes[scope].registers;
    auto found = registers.find(name);
    return found == registers.end() ? nullptr : &found->second;
  });
}

Translator::Value *Translator::slot(const std::string &name) {
  Value *found = outwards(function, at->scope, [&](unsigned scope) -> Value * {
    auto found = slots.find({scope, name});
    return found == slots.end() ? nullptr : found->second;
  });
  if (!found)
    fail("unknown register " + name);
  return found;
}

const Variable *Translator::variable(const std::string &name, unsigned &where) const {
  const Variable *found = outwards(function, at->scope, [&](unsigned scope) -> const Variable * {
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

Translator::Value *Translator::call(const char *name, llvm::Type *result, llvm::ArrayRef<Value *> arguments) {
  std::vector<llvm::Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  auto callee = module->getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  auto *made = builder.CreateCall(callee, arguments);
  made->setDoesNotThrow();
  return made;
}

Site *Translator::newSite() {
  layout.sites.emplace_back();
  Site &site = layout.sites.back();
  site.kernel = function.name;
  site.line = at ? at->line : function.line;
  site.text = at ? at->text : "";
  return &site;
}

Translator::Value *Translator::constantPointer(const void *pointer) {
  return builder.CreateIntToPtr(builder.getInt64(reinterpret_cast<uint64_t>(pointer)), builder.getPtrTy());
}

BasicBlock *Translator::label(const std::string &name) {
  const size_t *found = outwards(function, at->scope, [&](unsigned scope) -> const size_t * {
    auto &labels = function.scopes[scope].labels;
    auto found = labels.find(name);
    return found == labels.end() ? nullptr : &found->second;
  });
  if (!found)
    fail("unknown label " + name);
  return blocks.at(*found);
}

void Translator::branch() {
  builder.CreateBr(label(operand(0).name));
  ended = true;
}

void Translator::branchIndexed() {
  const auto *targets = outwards(function, at->scope, [&](unsigned scope) -> const std::vector<std::string> * {
    auto &all = function.scopes[scope].branchTargets;
    auto found = all.find(operand(1).name);
    return found == all.end() ? nullptr : &found->second;
  });
  if (!targets)
    fail("unknown list of targets " + operand(1).name);
  Value *index = read(operand(0), 32);
  BasicBlock *none = newBlock("none");
  auto *made = builder.CreateSwitch(index, none, static_cast<unsigned>(targets->size()));
  for (size_t i = 0; i < targets->size(); ++i)
    made->addCase(builder.getInt32(static_cast<uint32_t>(i)), label((*targets)[i]));
  builder.SetInsertPoint(none);
  trap();
}

void Translator::returnFromFunction() {
  if (localOld)
    builder.CreateStore(localOld, builder.CreateConstGEP1_64(builder.getInt8Ty(), thread, offsetof(Thread, localTop)));
  builder.CreateRetVoid();
}

void Translator::ret() {
  returnFromFunction();
  ended = true;
}

void Translator::exit() {
  if (function.entry)
    return ret();
  call("heddle_exit", builder.getVoidTy(), {thread});
  builder.CreateUnreachable();
  ended = true;
}

void Translator::trap() {
  call("heddle_trap", builder.getVoidTy(), {thread, constantPointer(newSite())});
  builder.CreateUnreachable();
  ended = true;
}

void Translator::callFunction() {
  const std::string &name = operand(0).name;
  const Function *callee = layout.ptx->findFunction(name);
  if (!callee)
    fail("indirect calls are not known");
  if (!callee->defined)
    fail("function " + name + " is defined nowhere");
  if (callee->results.size() != at->callResults.size() || callee->parameters.size() != at->callArguments.size())
    fail("function " + name + " takes other parameters");
  std::vector<Value *> arguments = {thread};
  auto pass = [&](const std::string &name) {
    unsigned scope = 0;
    const Variable *found = variable(name, scope);
    if (!found || found->space != Space::Param)
      fail(name + " is no parameter");
    arguments.push_back(paramSlots.at({scope, name}));
  };
  for (const std::string &result : at->callResults)
    pass(result);
  for (const Operand &argument : at->callArguments)
    pass(argument.name);
  call(name.c_str(), builder.getVoidTy(), arguments);
}

} // namespace heddle::emulator
