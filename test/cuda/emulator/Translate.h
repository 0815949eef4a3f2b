// Translates PTX to LLVM IR for the host: a kernel's thread becomes a call of a function.
#pragma once

#include "test/cuda/emulator/Machine.h"
#include "test/cuda/emulator/Ptx.h"

#include <deque>
#include <functional>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace heddle::emulator {

// Data shared by the kernels of a module; it also owns their sites.
struct ModuleLayout {
  const Module *ptx = nullptr;
  std::map<std::string, uint64_t> globals; // the device addresses of .global and .const variables
  // Offsets, equal in every kernel, of shared variables used by device functions.
  std::map<std::string, uint32_t> shared;
  uint32_t sharedBytes = 0; // total size of these
  bool races = false;       // emit calls of the race check
  bool async = false;       // the module uses wgmma or bulk copies: writes of shared memory are recorded
  bool dependent = false;   // the module uses griddepcontrol: what threads may access changes
  bool initialised = true;  // reading memory that nothing has written is a fault
  std::deque<Site> sites;

  void placeShared();
};

struct KernelLayout {
  std::vector<uint32_t> paramOffsets, paramSizes;
  uint32_t paramBytes = 0;
  uint32_t sharedBytes = 0; // static
  uint32_t localBytes = 0;
};

// Computes the offsets of the kernel's parameters in their buffer.
KernelLayout layOutParameters(const Function &function);

// Translates one function into its own module. An entry is `void name(Thread *)`; a device function also takes pointers
// to its results and parameters. Throws PtxError.
std::unique_ptr<llvm::Module> translate(ModuleLayout &layout, const Function &function, KernelLayout &kernel,
                                        llvm::LLVMContext &context);

// The functions that translated code calls, by name.
const std::map<std::string, void *> &supportFunctions();

class Translator {
public:
  Translator(ModuleLayout &layout, const Function &function, KernelLayout &kernel, llvm::LLVMContext &context);
  std::unique_ptr<llvm::Module> run();

private:
  using Value = llvm::Value;
  using Handler = void (Translator::*)();
  struct Entry {
    Handler handler;
    const char *modifiers; // supported modifiers besides types, separated by spaces
  };
  static const std::map<std::string, Entry> &handlers();
  static void addArithmetic(std::map<std::string, Entry> &table);
  static void addConversions(std::map<std::string, Entry> &table);
  static void addMemory(std::map<std::string, Entry> &table);
  static void addCollectives(std::map<std::string, Entry> &table);
  static void addClusters(std::map<std::string, Entry> &table);
  static void addMbarriers(std::map<std::string, Entry> &table);
  static void addWarpgroups(std::map<std::string, Entry> &table);

  // Translate.cpp: instructions and control flow.
  [[noreturn]] void fail(const std::string &message) const;
  void declare();
  void instruction();
  Value *call(const char *name, llvm::Type *result, llvm::ArrayRef<Value *> arguments);
  Site *newSite();
  Value *constantPointer(const void *pointer);
  llvm::IntegerType *integerType(unsigned bits) { return builder.getIntNTy(bits); }
  llvm::BasicBlock *label(const std::string &name);
  llvm::BasicBlock *newBlock(const char *name);
  void branchToBad(Value *good, const std::function<void()> &bad);

  void branch();
  void branchIndexed();
  void ret();
  void exit();
  void trap();
  void callFunction();
  void nothing() {}
  void returnFromFunction();

  // TranslateVariables.cpp
  void placeVariables();

  // TranslateOperands.cpp
  const Operand &operand(size_t i) const;
  Type lastType() const;
  std::vector<Type> types() const;
  // Returns the first result of `find` that is not null, from the instruction's scope outwards.
  template <typename Find> auto outwards(Find find) const {
    for (unsigned scope = at->scope;; scope = function.scopes[scope].parent) {
      if (auto found = find(scope))
        return found;
      if (scope == 0)
        return decltype(find(scope)){};
    }
  }
  const Type *registerType(const std::string &name) const;
  Value *slot(const std::string &name);
  const Variable *variable(const std::string &name, unsigned &scope) const;
  Value *symbolAddress(const std::string &name);
  Value *special(const std::string &name);
  Value *threadField(size_t offset, llvm::Type *type, bool constant = true);
  Value *read(const Operand &operand, unsigned bits);
  Value *predicate(const Operand &operand);
  void write(const Operand &operand, Value *value, bool isSigned = false);
  void writeName(const std::string &name, Value *value, bool isSigned = false);

  // TranslateArithmetic.cpp
  Value *toCompute(const Type &type, Value *bits, bool flush);
  Value *fromCompute(const Type &type, Value *value, bool flush, bool saturate);
  Value *flushed(const Type &type, Value *value);
  Value *intrinsic(unsigned id, llvm::ArrayRef<Value *> arguments);
  void elementwise(size_t sources, const std::function<Value *(const Type &, llvm::ArrayRef<Value *>)> &compute);
  unsigned rounding() const;
  Value *rounded(const Type &type, const char *operation, llvm::ArrayRef<Value *> arguments);
  Value *approximate(const Type &type, const char *function, Value *argument);
  Value *comparison(const std::string &name, const Type &type, Value *a, Value *b);
  std::string comparisonName() const;
  void addSubtract();
  void addSubtractCarry();
  void multiply();
  void multiplyAdd();
  void divide();
  void remainder();
  void minMax();
  void absolute();
  void negate();
  void fma();
  void unaryFloat();
  void copySign();
  void logic();
  void logicNot();
  void conditionalNot();
  void shift();
  void funnelShift();
  void bitField();
  void bitFieldInsert();
  void permute();
  void countBits();
  void logic3();
  void sumAbsoluteDifference();
  void setPredicate();
  void set();
  void select();
  void selectSign();
  void testProperty();

  // TranslateConvert.cpp
  void move();
  void convert();
  void convertAddress();
  void isSpace();
  Value *roundToInteger(Value *value, const Type &type);
  Value *narrowFloat(const Type &to, Value *value);

  // TranslateMemory.cpp
  Space space() const;
  Value *address(const Operand &operand, Space &space);
  Value *paramPointer(const Operand &operand, unsigned bytes);
  Value *access(Space space, Value *address, unsigned bytes, Access kind);
  void load();
  void store();
  void atomic();
  void copyAsync();
  void yieldThread();
  void fence();

  // TranslateCollective.cpp
  void setSlot(unsigned index, Value *value);
  Value *slotValue(unsigned index);
  Site *collectiveSite(Collective op);
  void callCollective(Site *site, Value *mask);
  void barrier();
  void shuffle();
  void vote();
  void match();
  void reduceSync();
  void activeMask();
  void elect();
  void loadMatrix();
  void storeMatrix();
  void moveMatrix();
  void mma();

  // TranslateMbarrier.cpp
  void requireTarget(unsigned target);
  Value *sharedAddress(size_t i, bool shared, bool cluster);
  void mbarrier();

  // TranslateCluster.cpp
  void clusterBarrier();
  void gridDependency();
  void mapToBlock();
  void rankOfAddress();

  // TranslateBulk.cpp
  void copyBulk();

  // TranslateWarpgroup.cpp
  void wgmma();
  void setRegisters();
  void multiplyWarpgroup();
  void requireFence();
  void requireWritesInLoop();

  ModuleLayout &layout;
  const Function &function;
  KernelLayout &kernel;
  std::unique_ptr<llvm::Module> module;
  llvm::IRBuilder<> builder;
  llvm::Function *translated = nullptr;
  Value *thread = nullptr;
  Value *carry = nullptr;
  Value *localBase = nullptr;
  Value *localOld = nullptr;
  std::map<std::pair<unsigned, std::string>, Value *> slots;
  std::map<std::pair<unsigned, std::string>, Value *> paramSlots;
  std::map<std::pair<unsigned, std::string>, uint64_t> offsets; // of shared and local variables
  std::map<size_t, llvm::BasicBlock *> blocks;                  // by the instruction they begin with
  const Instruction *at = nullptr;
  bool ended = false; // the current block has a terminator
};

} // namespace heddle::emulator
