// Hopper's wgmma.
#include "test/cuda/emulator/Translate.h"

#include <algorithm>

namespace heddle::emulator {

void Translator::addWarpgroups(std::map<std::string, Entry> &table) {
  static const std::string modifiers = [] {
    std::string all = "fence commit_group wait_group mma_async sync aligned";
    for (unsigned n = 8; n <= 256; n += 8)
      for (const char *depth : {"k8", "k16"})
        all += " m64n" + std::to_string(n) + depth;
    return all;
  }();
  table.insert({{"wgmma", {&Translator::wgmma, modifiers.c_str()}},
                {"setmaxnreg", {&Translator::setRegisters, "inc dec sync aligned"}}});
}

void Translator::wgmma() {
  // This target runs only on 9.0, so all other devices refuse the module.
  if (layout.ptx->targetName != "sm_90a")
    fail("wgmma needs .target sm_90a, not " + layout.ptx->targetName + ",");
  if (at->opcode.size() < 4 || at->opcode[2] != "sync" || at->opcode[3] != "aligned")
    fail("wgmma is .sync.aligned");
  if (at->opcode[1] == "mma_async")
    return multiplyWarpgroup();
  if (at->opcode.size() != 4)
    fail("this form of wgmma is not known");
  Site *site = collectiveSite(Collective::WarpgroupFence);
  if (at->opcode[1] == "commit_group") {
    site->op = Collective::WarpgroupCommit;
  } else if (at->opcode[1] == "wait_group") {
    site->op = Collective::WarpgroupWait;
    if (operand(0).kind != Operand::Integer)
      fail("the number of groups must be a constant");
    site->groupsLeft = static_cast<uint32_t>(operand(0).value);
  } else if (at->opcode[1] != "fence") {
    fail("this form of wgmma is not known");
  }
  callCollective(site, builder.getInt32(~0u));
}

void Translator::setRegisters() {
  if (layout.ptx->targetName != "sm_90a")
    fail("setmaxnreg needs .target sm_90a, not " + layout.ptx->targetName + ",");
  if (operand(0).kind != Operand::Integer || operand(0).value < 24 || operand(0).value > 256 || operand(0).value % 8)
    fail("the number of registers must be a multiple of 8 from 24 to 256");
  if (!function.maxRegisters && !function.minBlocks)
    fail("ptxas ignores setmaxnreg in a kernel with neither .maxnreg nor .minnctapersm,");
  Site *site = collectiveSite(Collective::WarpgroupRegisters);
  site->registers = static_cast<uint32_t>(operand(0).value);
  site->increases = at->has("inc");
  callCollective(site, builder.getInt32(~0u));
  call("heddle_set_registers", builder.getVoidTy(), {thread, constantPointer(site)});
}

// Returns true if an instruction other than wgmma writes the register as its first operand.
static bool writes(const Instruction &instruction, const std::string &name) {
  static const std::set<std::string> others = {"st", "cp", "bar", "barrier", "fence", "membar", "red", "bra", "wgmma"};
  if (instruction.operands.empty() || others.count(instruction.opcode[0]))
    return false;
  const Operand &first = instruction.operands[0];
  auto isIt = [&](const Operand &operand) { return operand.name == name; };
  return first.kind == Operand::Vector ? std::any_of(first.items.begin(), first.items.end(), isIt)
                                       : first.kind == Operand::Name && isIt(first);
}

// Registers written after the fence may be written after the reading instruction has begun. Whether a warp has passed a
// fence at all is checked at run time.
void Translator::requireFence() {
  std::vector<Operand> registers = operand(0).items;
  registers.insert(registers.end(), operand(1).items.begin(), operand(1).items.end());
  std::string problem;
  for (const Instruction *before = at; before-- != function.body.data();) {
    if (before->opcode[0] == "wgmma" && before->opcode[1] == "fence") {
      if (!problem.empty())
        fail(problem);
      return;
    }
    for (const Operand &one : registers)
      if (writes(*before, one.name))
        problem = "PTX line " + std::to_string(before->line) + " writes its register " + one.name +
                  " after the last wgmma.fence";
  }
}

// Valid PTX, but ptxas 13.0 miscompiles it: it reuses A's registers after their first use, though the loop keeps them.
void Translator::requireWritesInLoop() {
  auto index = static_cast<size_t>(at - function.body.data());
  size_t begin = 0; // of the innermost loop around the instruction
  for (size_t i = index + 1; i < function.body.size(); ++i) {
    const Instruction &branch = function.body[i];
    if (branch.opcode[0] != "bra" || branch.operands.empty())
      continue;
    for (const Scope &scope : function.scopes)
      if (auto found = scope.labels.find(branch.operands[0].name);
          found != scope.labels.end() && found->second <= index)
        begin = std::max(begin, found->second);
  }
  for (const Operand &one : operand(1).items) {
    bool isWritten = begin == 0;
    for (size_t i = begin; i < index; ++i)
      isWritten |= writes(function.body[i], one.name);
    if (!isWritten)
      fail("its register " + one.name + " of A is written before the loop around it, which ptxas 13.0 does not keep");
  }
}

// wgmma.mma_async.sync.aligned.shape.f32.type.type d, a, b-desc, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a},
// imm-trans-b. A is a descriptor, or four registers, which have no imm-trans-a. Factors of tf32 have neither.
void Translator::multiplyWarpgroup() {
  Site *site = collectiveSite(Collective::WarpgroupMultiply);
  std::vector<Type> all = types();
  static const std::map<std::string, MmaType> kinds = {
      {"f16", MmaType::F16}, {"bf16", MmaType::BF16}, {"tf32", MmaType::TF32}};
  auto kind = at->opcode.size() == 8 ? kinds.find(at->opcode[6]) : kinds.end();
  if (kind == kinds.end() || all.size() != 3 || at->opcode[5] != "f32" || at->opcode[6] != at->opcode[7] ||
      at->opcode[4].compare(0, 4, "m64n") != 0)
    fail("this form of wgmma is not known");
  site->type = kind->second;
  bool wide = site->type == MmaType::TF32;
  site->depth = wide ? 8 : 16;
  site->columns = static_cast<uint16_t>(std::stoul(at->opcode[4].substr(4)));
  if (at->opcode[4] != "m64n" + std::to_string(site->columns) + "k" + std::to_string(site->depth))
    fail("the shape " + at->opcode[4] + " is not for factors of " + at->opcode[6]);
  unsigned sums = site->columns / 2;
  if (operand(0).kind != Operand::Vector || operand(0).items.size() != sums)
    fail("a vector of " + std::to_string(sums) + " registers is needed for the sums");
  site->registersOfA = operand(1).kind == Operand::Vector;
  if (site->registersOfA && operand(1).items.size() != 4)
    fail("a vector of 4 registers is needed for the first factor");
  size_t immediates = wide ? 2 : site->registersOfA ? 3 : 4;
  if (at->operands.size() != 4 + immediates)
    fail(std::to_string(4 + immediates) + " operands are needed");
  auto immediate = [&](size_t i, uint64_t one, uint64_t other) {
    if (operand(i).kind != Operand::Integer || (operand(i).value != one && operand(i).value != other))
      fail("operand " + std::to_string(i + 1) + " must be " + std::to_string(int64_t(one)) + " or " +
           std::to_string(int64_t(other)));
    return operand(i).value == other;
  };
  bool negatedA = immediate(4, 1, ~uint64_t(0)), negatedB = immediate(5, 1, ~uint64_t(0));
  site->negated = negatedA != negatedB;
  site->transposedA = !wide && !site->registersOfA && immediate(6, 0, 1);
  site->transposedB = !wide && immediate(3 + immediates, 0, 1);
  requireFence();
  if (site->registersOfA)
    requireWritesInLoop();

  auto setPair = [&](unsigned first, Value *value) {
    setSlot(first, builder.CreateTrunc(value, builder.getInt32Ty()));
    setSlot(first + 1, builder.CreateTrunc(builder.CreateLShr(value, 32), builder.getInt32Ty()));
  };
  if (site->registersOfA)
    for (unsigned i = 0; i < 4; ++i)
      setSlot(kSlotOfA + i, read(operand(1).items[i], 32));
  else
    setPair(kSlotOfA, read(operand(1), 64));
  setPair(kSlotOfB, read(operand(2), 64));
  const Type *scale = operand(3).kind == Operand::Name ? registerType(operand(3).name) : nullptr;
  if (!scale || scale->kind != Type::Predicate)
    fail("scale-d must be a predicate");
  setSlot(kSlotOfScale, builder.CreateZExt(predicate(operand(3)), builder.getInt32Ty()));
  for (unsigned i = 0; i < sums; ++i)
    setSlot(kSlotOfSums + i, read(operand(0).items[i], 32));
  callCollective(site, builder.getInt32(~0u));
  for (unsigned i = 0; i < sums; ++i)
    write(operand(0).items[i], slotValue(kSlotOfSums + i));
}

} // namespace heddle::emulator
