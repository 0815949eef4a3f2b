#include "test/cuda/emulator/PtxScanner.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>

namespace heddle::emulator {

Type parseType(std::string_view name) {
  static const std::map<std::string_view, Type> types = {
      {"b8", {Type::Bits, 8}},          {"b16", {Type::Bits, 16}},
      {"b32", {Type::Bits, 32}},        {"b64", {Type::Bits, 64}},
      {"b128", {Type::Bits, 128}},      {"u8", {Type::Unsigned, 8}},
      {"u16", {Type::Unsigned, 16}},    {"u32", {Type::Unsigned, 32}},
      {"u64", {Type::Unsigned, 64}},    {"s8", {Type::Signed, 8}},
      {"s16", {Type::Signed, 16}},      {"s32", {Type::Signed, 32}},
      {"s64", {Type::Signed, 64}},      {"f16", {Type::Float, 16}},
      {"f32", {Type::Float, 32}},       {"f64", {Type::Float, 64}},
      {"bf16", {Type::BFloat, 16}},     {"tf32", {Type::TensorFloat, 32}},
      {"f16x2", {Type::Float, 16, 2}},  {"bf16x2", {Type::BFloat, 16, 2}},
      {"pred", {Type::Predicate, 1}},   {"u16x2", {Type::Unsigned, 16, 2}},
      {"s16x2", {Type::Signed, 16, 2}},
  };
  auto found = types.find(name);
  return found == types.end() ? Type{} : found->second;
}

bool Instruction::has(std::string_view modifier) const {
  return std::find(opcode.begin() + 1, opcode.end(), modifier) != opcode.end();
}

template <typename T> static const T *findNamed(const std::vector<T> &all, const std::string &name) {
  // Finds the last one of a name: a definition follows its declaration.
  auto found = std::find_if(all.rbegin(), all.rend(), [&](const T &one) { return one.name == name; });
  return found == all.rend() ? nullptr : &*found;
}

const Variable *Module::findVariable(const std::string &name) const { return findNamed(variables, name); }
const Function *Module::findFunction(const std::string &name) const { return findNamed(functions, name); }

namespace {

class Parser : PtxScanner {
public:
  explicit Parser(std::string_view text) : PtxScanner(text) {}

  Module parse() {
    while (!atEnd())
      topLevel();
    if (!module.target)
      fail(".target is missing");
    return std::move(module);
  }

private:
  Module module;
  Function *function = nullptr;
  unsigned scope = 0;
  std::string lastLabel;

  void topLevel() {
    std::string word = directive();
    if (word.empty())
      failExpected("a directive");
    if (word == "version") {
      skipSpace();
      while (std::isdigit(static_cast<unsigned char>(peek())) || peek() == '.')
        ++at;
    } else if (word == "target") {
      module.targetName = name();
      if (module.targetName.rfind("sm_", 0) != 0)
        fail("unknown target " + module.targetName);
      module.target = static_cast<unsigned>(std::strtoul(module.targetName.c_str() + 3, nullptr, 10));
      while (accept(','))
        name();
    } else if (word == "address_size") {
      if (integer() != 64)
        fail("only 64-bit addresses are known");
    } else if (word == "file") {
      skipLine();
    } else if (word == "section") {
      while (at < text.size() && peek() != '{')
        advance();
      skipBraces();
    } else {
      bool external = false;
      for (; word == "extern" || word == "visible" || word == "weak" || word == "common"; word = directive())
        external = word == "extern";
      if (word == "entry" || word == "func")
        functionDeclaration(word == "entry", external);
      else
        variables(word, external, module.variables);
    }
  }

  static bool spaceOf(const std::string &word, Space &space) {
    static const std::map<std::string, Space> spaces = {{"global", Space::Global},
                                                        {"const", Space::Const},
                                                        {"shared", Space::Shared},
                                                        {"local", Space::Local},
                                                        {"param", Space::Param}};
    auto found = spaces.find(word);
    if (found == spaces.end())
      return false;
    space = found->second;
    return true;
  }

  // Parses one or several variables after their space: ".align 4 .b8 name[16] = {...}, other;".
  template <typename List> void variables(const std::string &spaceWord, bool external, List &into) {
    do
      into.push_back(variable(spaceWord, external, false));
    while (accept(','));
    expect(';');
  }

  Variable variable(const std::string &spaceWord, bool external, bool parameter) {
    Variable result;
    result.external = external;
    if (!spaceOf(spaceWord, result.space))
      fail("unknown directive ." + spaceWord);
    Type type;
    unsigned vector = 1, alignment = 0;
    for (std::string word = directive(); !word.empty(); word = directive()) {
      if (word == "align")
        alignment = static_cast<unsigned>(integer());
      else if (word == "v2" || word == "v4")
        vector = static_cast<unsigned>(word[1] - '0');
      else if (word == "attribute")
        skipUntil(')');
      else if (word == "ptr" || word == "global" || word == "shared" || word == "const" || word == "local")
        continue; // the space that a pointer parameter points to
      else if (type = type.kind == Type::None ? parseType(word) : type; type.kind == Type::None)
        fail("unknown type ." + word);
    }
    if (type.kind == Type::None)
      fail("a variable has no type");
    unsigned element = type.totalBits() / 8;
    result.line = line;
    // After .ptr, .align is the alignment of the pointer's target; using it for the parameter itself does no harm.
    result.alignment = std::max(parameter ? element : alignment, alignment ? alignment : element * vector);
    result.name = name();
    uint64_t count = vector;
    bool sized = true;
    while (accept('[')) {
      if (accept(']')) {
        sized = false;
        continue;
      }
      count *= integer();
      expect(']');
    }
    result.size = sized ? count * element : 0;
    if (accept('=')) {
      initialiser(result, type);
      if (!sized)
        result.size = result.data.size();
      if (result.data.size() > result.size)
        fail(result.name + " has more values than elements");
      result.data.resize(result.size);
    }
    return result;
  }

  void initialiser(Variable &variable, const Type &type) {
    if (accept('{')) {
      if (accept('}'))
        return;
      do
        initialiser(variable, type);
      while (accept(','));
      expect('}');
      return;
    }
    unsigned bytes = type.totalBits() / 8;
    uint64_t value = 0;
    if (atNumber()) {
      value = convertReal(number(), type);
    } else {
      Variable::Relocation relocation{variable.data.size(), bytes, name(), 0};
      if (relocation.symbol == "generic") {
        expect('(');
        relocation.symbol = name();
        if (accept('+'))
          relocation.addend = integer();
        expect(')');
      }
      if (accept('+'))
        relocation.addend += integer();
      if (bytes != 8)
        fail("an address needs 64 bits");
      variable.relocations.push_back(std::move(relocation));
    }
    for (unsigned byte = 0; byte < bytes; ++byte)
      variable.data.push_back(static_cast<uint8_t>(value >> (8 * byte)));
  }

  static uint64_t convertReal(const Operand &operand, const Type &type) {
    if (operand.kind == Operand::Real && operand.realBits == 64 && type.bits == 32)
      return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)));
    return operand.value;
  }

  void parameterList(std::vector<Variable> &into) {
    expect('(');
    if (accept(')'))
      return;
    do {
      std::string word = directive();
      if (word == "reg")
        fail("parameters in registers are not known");
      into.push_back(variable(word, false, true));
    } while (accept(','));
    expect(')');
  }

  void functionDeclaration(bool entry, bool external) {
    Function parsed;
    parsed.entry = entry;
    skipSpace();
    parsed.line = line;
    if (peek() == '(')
      parameterList(parsed.results);
    parsed.name = name();
    if (skipSpace(), peek() == '(')
      parameterList(parsed.parameters);
    for (std::string word = directive(); !word.empty(); word = directive()) {
      if (word == "maxntid" || word == "reqntid" || word == "reqnctapercluster") {
        uint32_t *sizes = word == "maxntid"   ? parsed.maxThreads
                          : word == "reqntid" ? parsed.requiredThreads
                                              : parsed.requiredCluster;
        sizes[1] = sizes[2] = 1;
        unsigned i = 0;
        do
          sizes[std::min(i++, 2u)] = static_cast<uint32_t>(integer());
        while (accept(','));
      } else if (word == "minnctapersm") {
        parsed.minBlocks = static_cast<uint32_t>(integer());
      } else if (word == "maxnreg") {
        parsed.maxRegisters = static_cast<uint32_t>(integer());
      } else if (word == "maxnctapersm" || word == "maxclusterrank") {
        integer();
      } else if (word == "noreturn" || word == "blocksareclusters" || word == "explicitcluster") {
        continue;
      } else if (word == "pragma") {
        skipUntil(';');
      } else {
        fail("unknown directive ." + word + " of a function");
      }
    }
    if (accept(';') || external) {
      module.functions.push_back(std::move(parsed));
      return;
    }
    parsed.defined = true;
    module.functions.push_back(std::move(parsed));
    function = &module.functions.back();
    function->scopes.emplace_back();
    scope = 0;
    expect('{');
    body();
  }

  void body() {
    for (unsigned depth = 1;;) {
      if (atEnd())
        fail("the body of " + function->name + " is not closed");
      if (accept('}')) {
        if (!--depth)
          return;
        scope = function->scopes[scope].parent;
      } else if (accept('{')) {
        ++depth;
        Scope inner;
        inner.parent = scope;
        scope = static_cast<unsigned>(function->scopes.size());
        function->scopes.push_back(std::move(inner));
      } else if (accept(';')) {
        continue;
      } else if (peek() == '.') {
        bodyDirective();
      } else {
        statement();
      }
    }
  }

  void bodyDirective() {
    std::string word = directive();
    if (word == "reg") {
      Type type = parseType(directive());
      if (type.kind == Type::None)
        fail("unknown type of a register");
      do {
        std::string base = name();
        auto &registers = function->scopes[scope].registers;
        if (accept('<')) {
          uint64_t count = integer();
          expect('>');
          if (count > 1u << 20)
            fail("too many registers");
          for (uint64_t i = 0; i < count; ++i)
            registers[base + std::to_string(i)] = type;
        } else {
          registers[base] = type;
        }
      } while (accept(','));
      expect(';');
    } else if (word == "pragma") {
      skipUntil(';');
    } else if (word == "loc") {
      skipLine();
    } else if (word == "branchtargets") {
      auto &targets = function->scopes[scope].branchTargets[lastLabel];
      do
        targets.push_back(name());
      while (accept(','));
      expect(';');
    } else if (word == "shared" || word == "local" || word == "param" || word == "global" || word == "const") {
      std::vector<Variable> declared;
      variables(word, false, declared);
      for (Variable &one : declared)
        function->scopes[scope].variables[one.name] = one;
    } else {
      fail("unknown directive ." + word);
    }
  }

  void statement() {
    Instruction instruction;
    instruction.line = line;
    instruction.scope = scope;
    size_t start = at;
    if (accept('@')) {
      instruction.guardNegated = accept('!');
      instruction.guard = name();
    } else {
      size_t before = at;
      std::string word = name();
      if (accept(':') && peek() != ':') {
        if (!function->scopes[scope].labels.emplace(word, function->body.size()).second)
          fail("label " + word + " is defined twice");
        lastLabel = word;
        return;
      }
      at = before;
    }
    std::string opcode = this->opcode();
    for (size_t from = 0; from <= opcode.size();) {
      size_t dot = std::min(opcode.find('.', from), opcode.size());
      instruction.opcode.push_back(opcode.substr(from, dot - from));
      from = dot + 1;
    }
    if (opcode.empty())
      failExpected("an instruction");
    if (instruction.opcode[0] == "call")
      callOperands(instruction);
    else if (skipSpace(), peek() != ';') {
      do
        instruction.operands.push_back(operand());
      while (accept(','));
    }
    instruction.text = folded(text.substr(start, at - start));
    expect(';');
    function->body.push_back(std::move(instruction));
  }

  static std::string folded(std::string_view raw) {
    std::string result;
    for (char c : raw) {
      if (!std::isspace(static_cast<unsigned char>(c)))
        result += c;
      else if (!result.empty() && result.back() != ' ')
        result += ' ';
    }
    while (!result.empty() && result.back() == ' ')
      result.pop_back();
    return result;
  }

  void callOperands(Instruction &instruction) {
    if (accept('(')) {
      do
        instruction.callResults.push_back(name());
      while (accept(','));
      expect(')');
      expect(',');
    }
    instruction.operands.push_back(operand());
    if (accept(',')) {
      expect('(');
      if (!accept(')')) {
        do
          instruction.callArguments.push_back(operand());
        while (accept(','));
        expect(')');
      }
    }
    if (accept(','))
      fail("indirect calls are not known");
  }

  Operand operand() {
    Operand result;
    skipSpace();
    if (accept('!')) {
      result = operand();
      result.negated = true;
    } else if (accept('{')) {
      result.kind = Operand::Vector;
      do
        result.items.push_back(operand());
      while (accept(','));
      expect('}');
    } else if (accept('[')) {
      result.kind = Operand::Address;
      if (atNumber()) {
        result.value = integer();
      } else {
        result.name = dottedName();
        if (skipSpace(), accept('+'))
          result.value = integer();
        else if (peek() == '-')
          result.value = integer();
      }
      if (accept(','))
        result.items = operand().items;
      expect(']');
    } else if (atNumber()) {
      result = number();
    } else if (peek() == '-') {
      fail("a negated register is no operand");
    } else {
      result.name = dottedName();
      if (accept('|'))
        result.second = name();
      else if (skipSpace(), peek() == '+')
        result.value = integer();
    }
    return result;
  }
};

} // namespace

Module parsePtx(std::string_view text) { return Parser(text).parse(); }

} // namespace heddle::emulator
