// A parsed PTX module: variables, functions and their instructions. Names are not resolved yet.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle::emulator {

// An error in a module's text, with its line: becomes CUDA_ERROR_INVALID_PTX and a line of the error log.
struct PtxError : std::runtime_error {
  PtxError(unsigned line, const std::string &message)
      : std::runtime_error("ptx line " + std::to_string(line) + ": " + message) {}
};

// The module is for another device.
struct TargetError : PtxError {
  using PtxError::PtxError;
};

enum class Space { Generic, Global, Const, Shared, Cluster, Local, Param };

// A scalar or packed type, as in an instruction's suffix.
struct Type {
  enum Kind { None, Bits, Unsigned, Signed, Float, BFloat, TensorFloat, Predicate } kind = None;
  unsigned bits = 0;   // of one element
  unsigned packed = 1; // number of elements: two for f16x2 and bf16x2

  bool isFloat() const { return kind == Float || kind == BFloat || kind == TensorFloat; }
  bool isSigned() const { return kind == Signed; }
  unsigned totalBits() const { return bits * packed; }
};

// Returns the type that a suffix without its dot names ("u32", "bf16x2"); kind None if it names no type.
Type parseType(std::string_view name);

struct Operand {
  enum Kind { Name, Integer, Real, Address, Vector } kind = Name;
  std::string name;           // register or symbol; base of an address (empty: absolute); "_" for none
  std::string second;         // the predicate of `d|p`
  bool negated = false;       // `!p`
  uint64_t value = 0;         // an integer; an offset; the bits of a real number
  unsigned realBits = 0;      // 32 or 64: the format that `value` holds
  std::vector<Operand> items; // elements of a vector; coordinates after an address
};

struct Instruction {
  unsigned line = 0;
  unsigned scope = 0;
  std::string text; // as written, with white space collapsed
  std::string guard;
  bool guardNegated = false;
  std::vector<std::string> opcode; // split at its dots
  std::vector<Operand> operands;
  // For a call: its results and arguments.
  std::vector<std::string> callResults;
  std::vector<Operand> callArguments;

  bool has(std::string_view modifier) const;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  unsigned line = 0;
  unsigned alignment = 1;
  uint64_t size = 0; // bytes
  bool external = false;
  std::vector<uint8_t> data; // initial bytes, all of them; empty without an initialiser
  struct Relocation {
    uint64_t offset;
    unsigned bytes;
    std::string symbol;
    uint64_t addend;
  };
  std::vector<Relocation> relocations;
};

// A pair of braces, and the names declared inside.
struct Scope {
  unsigned parent = 0; // scope 0 is the function's own
  std::unordered_map<std::string, Type> registers;
  std::unordered_map<std::string, Variable> variables;
  std::unordered_map<std::string, size_t> labels;                          // the index of the instruction that follows
  std::unordered_map<std::string, std::vector<std::string>> branchTargets; // for brx.idx, by their label
};

struct Function {
  std::string name;
  unsigned line = 0;
  bool entry = false;
  bool defined = false;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  uint32_t maxThreads[3] = {0, 0, 0};      // .maxntid; zeros if not given
  uint32_t requiredThreads[3] = {0, 0, 0}; // .reqntid; zeros if not given
  uint32_t requiredCluster[3] = {0, 0, 0}; // .reqnctapercluster; zeros if not given
  uint32_t maxRegisters = 0;               // .maxnreg
  uint32_t minBlocks = 0;                  // .minnctapersm
  std::vector<Scope> scopes;
  std::vector<Instruction> body;
};

struct Module {
  unsigned target = 0;    // 80 for "sm_80"
  std::string targetName; // such as "sm_90a"
  std::vector<Variable> variables;
  std::vector<Function> functions;

  const Variable *findVariable(const std::string &name) const;
  const Function *findFunction(const std::string &name) const;
};

// Throws PtxError.
Module parsePtx(std::string_view text);

} // namespace heddle::emulator
