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
  const size_t *found = outwards([&](unsigned scope) -> const size_t * {
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
  const auto *targets = outwards([&](unsigned scope) -> const std::vector<std::string> * {
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
