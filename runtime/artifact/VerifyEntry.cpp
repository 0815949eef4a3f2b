#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Verify.h"
#include "runtime/core/Tensor.h"
#include "runtime/schema/Constants.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

namespace heddle::verifier {
namespace {

constexpr uint64_t alignment = 4; // of everything that a kernel addresses
constexpr size_t kLongestLocation = 16 << 10;

bool fits(uint64_t offset, uint64_t bytes, uint64_t room) { return offset <= room && bytes <= room - offset; }

class EntryVerifier {
public:
  EntryVerifier(const schema::Module &module, const schema::Entry &entry, const PlanTargets &plan)
      : module(module), entry(entry), plan(plan), arenaBytes(plan.arenaBytes()),
        kernels(plan.targets.front()->kernels()->size()), bound(module.sizes()->size()),
        where(str("entry '", entry.name()->c_str(), "'")) {}

  Status verify() {
    HEDDLE_CHECK(verifyBlocks());
    HEDDLE_CHECK(verifyPorts(*entry.inputs(), /*input=*/true));
    HEDDLE_CHECK(verifyOverlap());
    HEDDLE_CHECK(bindSizes());
    HEDDLE_CHECK(verifyPorts(*entry.outputs(), /*input=*/false));
    HEDDLE_CHECK(verifySegments(module, entry, bound, where));
    HEDDLE_CHECK(verifyRepeats());
    for (flatbuffers::uoffset_t i = 0; i < entry.launches()->size(); ++i)
      HEDDLE_CHECK(verifyLaunch(i, str(where, ", launch ", i)));
    return verifyCollectives();
  }

private:
  using Ports = flatbuffers::Vector<flatbuffers::Offset<schema::Port>>;

  // B1
  Status verifyBlocks() {
    const auto *blocks = entry.blocks();
    if (!blocks)
      return Success();
    if (reinterpret_cast<uintptr_t>(blocks->Data()) % alignof(uint64_t))
      return broken(where + " has blocks that are misaligned.");
    if (blocks->size() == 0 || blocks->size() > schema::kMaxBlocks)
      return broken(str(where, " has an arena of ", blocks->size(), " blocks, not of 1 to ", schema::kMaxBlocks, "."));
    uint64_t end = 0;
    for (uint64_t bytes : *blocks) {
      if (bytes == 0 || bytes % schema::kBlockAlignment || !fits(end, bytes, arenaBytes))
        return broken(str(where, " has a block of ", bytes, " bytes at ", end, ", and the arena has ", arenaBytes,
                          "; blocks have multiples of ", schema::kBlockAlignment, "."));
      blockEnds.push_back(end += bytes);
    }
    return Success();
  }

  // B2 for a range of the arena that is known to lie in it.
  Status verifyOneBlock(uint64_t begin, uint64_t end, const std::string &what) const {
    if (blockEnds.empty())
      return Success();
    auto block = std::upper_bound(blockEnds.begin(), blockEnds.end(), begin);
    if (block == blockEnds.end() || end > *block)
      return broken(str(what, " lies at ", begin, " to ", end, " of the arena, which is not in one of its blocks."));
    return Success();
  }

  Status verifyPorts(const Ports &ports, bool input) {
    std::unordered_set<std::string_view> names;
    const char *kind = input ? "input" : "output";
    for (const schema::Port *port : ports) {
      HEDDLE_CHECK(checkName(port->name(), str(where, ", ", kind, " ", names.size())));
      std::string what = str(where, ", ", kind, " '", port->name()->c_str(), "'");
      if (!names.insert({port->name()->c_str(), port->name()->size()}).second)
        return broken(what + " occurs twice.");
      HEDDLE_ASSIGN(uint64_t bytes, callersBytes(module, port->type(), what));
      if (bytes != port->bytes())
        return broken(str(what, " has ", port->bytes(), " bytes, and its shape needs ", bytes, "."));
      if (port->arena_offset() % alignment || !fits(port->arena_offset(), bytes, arenaBytes))
        return broken(str(what, " lies at ", port->arena_offset(), " with ", bytes, " bytes, and the arena has ",
                          arenaBytes, "."));
      HEDDLE_CHECK(verifyOneBlock(port->arena_offset(), port->arena_offset() + bytes, what));
      bool limitFits = port->value_limit() == 0 ||
                       (input && port->value_limit() > 0 && port->type()->element() == schema::ElementType::I32);
      if (!limitFits)
        return broken(str(what, " has the value limit ", port->value_limit(), ", which only an i32 input can have."));
      if (const flatbuffers::String *role = port->role()) {
        HEDDLE_CHECK(checkName(role, what + ", role"));
        if (!input)
          return broken(str(what, " has the role '", role->c_str(), "', which only an input can have."));
        if (role->string_view().find('.') == std::string_view::npos)
          return broken(str(what, " has the role '", role->c_str(), "', which has no dot, as in 'source.positions'."));
      }
      if (!input)
        for (const schema::Dim *dim : *port->type()->dims())
          HEDDLE_CHECK(checkBound(dim->size(), what));
    }
    return Success();
  }

  Status verifyOverlap() {
    std::vector<const schema::Port *> ports(entry.inputs()->begin(), entry.inputs()->end());
    std::sort(ports.begin(), ports.end(),
              [](const auto *a, const auto *b) { return a->arena_offset() < b->arena_offset(); });
    for (size_t i = 1; i < ports.size(); ++i)
      if (ports[i - 1]->arena_offset() + ports[i - 1]->bytes() > ports[i]->arena_offset())
        return broken(str(where, ": inputs '", ports[i - 1]->name()->c_str(), "' and '", ports[i]->name()->c_str(),
                          "' overlap."));
    return Success();
  }

  Status bindSizes() {
    std::unordered_set<std::string_view> integers;
    for (const schema::Port *port : *entry.inputs()) {
      if (port->type()->element() == schema::ElementType::I32)
        integers.insert(port->name()->string_view());
      for (const schema::Dim *dim : *port->type()->dims())
        if (dim->size() >= 0)
          bound[dim->size()] = true;
    }
    for (flatbuffers::uoffset_t i = 0; i < module.sizes()->size(); ++i)
      if (module.sizes()->Get(i)->fixed())
        bound[i] = true;
      else if (const flatbuffers::String *input = module.sizes()->Get(i)->max_of_input())
        if (integers.count(input->string_view()))
          bound[i] = true;
    for (flatbuffers::uoffset_t i = 0; i < module.sizes()->size(); ++i)
      if (int32_t whole = module.sizes()->Get(i)->of_size(); whole >= 0)
        bound[i] = bound[whole];
    return Success();
  }

  // E1. `size` exists or is -1.
  Status checkBound(int32_t size, const std::string &what) const {
    if (size >= 0 && !bound[size])
      return broken(str(what, " uses size '", module.sizes()->Get(size)->name()->c_str(),
                        "', which no input of the entry binds."));
    return Success();
  }

  // R0 to R3. The limit on unrolled launches is what a device can record.
  Status verifyRepeats() {
    constexpr uint64_t mostRuns = 1 << 20;
    stepsOfLaunch.assign(entry.launches()->size(), 1);
    if (!entry.repeats())
      return Success();
    if (module.schema_version() < schema::kSchemaVersionOfRepeats)
      return broken(str(where, " has repetitions, and the artifact is of version ", module.schema_version(), "."));
    uint64_t end = 0, runs = 0;
    for (flatbuffers::uoffset_t i = 0; i < entry.repeats()->size(); ++i) {
      const schema::Repeat &repeat = *entry.repeats()->Get(i);
      std::string what = str(where, ", repetition ", i);
      if (repeat.first() < end || repeat.count() == 0 ||
          !fits(repeat.first(), repeat.count(), entry.launches()->size()))
        return broken(str(what, " holds ", repeat.count(), " launches from ", repeat.first(), " on, where ", end,
                          " to ", entry.launches()->size(), " are left."));
      end = uint64_t(repeat.first()) + repeat.count();
      for (uint32_t size : {repeat.trips(), repeat.rows(), repeat.tokens()}) {
        if (size >= module.sizes()->size())
          return broken(str(what, " uses size ", size, ", and there are ", module.sizes()->size(), "."));
        HEDDLE_CHECK(checkBound(static_cast<int32_t>(size), what));
      }
      runs += uint64_t(repeat.count()) * repeat.steps();
      if (repeat.steps() != static_cast<uint64_t>(module.sizes()->Get(repeat.trips())->maximum()) || runs > mostRuns)
        return broken(
            str(what, " has ", repeat.steps(), " steps, which are not as many as its size is at most, or too many."));
      std::fill_n(stepsOfLaunch.begin() + repeat.first(), repeat.count(), repeat.steps());
    }
    return Success();
  }

  // G0 to G4
  Status verifyCollectives() const {
    if (!entry.collectives())
      return Success();
    if (module.schema_version() < schema::kSchemaVersionOfCollectives)
      return broken(str(where, " has collectives, and the artifact is of version ", module.schema_version(), "."));
    if (entry.collectives()->size() > schema::kMaxCollectives)
      return broken(str(where, " has ", entry.collectives()->size(), " collectives; ", schema::kMaxCollectives,
                        " are the most."));
    uint32_t before = 0;
    for (flatbuffers::uoffset_t i = 0; i < entry.collectives()->size(); ++i) {
      const schema::Collective &collective = *entry.collectives()->Get(i);
      std::string what = str(where, ", collective ", i);
      if (collective.before() < before || collective.before() > entry.launches()->size() ||
          isWithinRepeat(collective.before()))
        return broken(str(what, " stands before launch ", collective.before(), ", where ", before, " to ",
                          entry.launches()->size(), " would do, outside of repetitions."));
      before = collective.before();
      HEDDLE_CHECK(verifyTensors(collective, what));
    }
    return Success();
  }

  bool isRepeated(uint32_t launch) const {
    return entry.repeats() &&
           std::any_of(entry.repeats()->begin(), entry.repeats()->end(), [&](const schema::Repeat *repeat) {
             return launch >= repeat->first() && launch - repeat->first() < repeat->count();
           });
  }
  // Returns true if `launch` is in a repetition, but not its first launch.
  bool isWithinRepeat(uint32_t launch) const {
    if (entry.repeats())
      for (const schema::Repeat *repeat : *entry.repeats())
        if (launch > repeat->first() && launch - repeat->first() < repeat->count())
          return true;
    return false;
  }

  Status verifyTensors(const schema::Collective &collective, const std::string &what) const {
    if (collective.kind() > schema::CollectiveKind::MAX)
      return broken(str(what, " is of an unknown kind ", static_cast<int>(collective.kind()), "."));
    const auto &from = *collective.from(), &to = *collective.to();
    if (!aligned(from) || !aligned(to))
      return broken(what + " is misaligned.");
    if (from.size() == 0 || from.size() != to.size() || from.size() > schema::kMaxCollectiveTensors)
      return broken(str(what, " takes ", from.size(), " tensors and makes ", to.size(), "."));
    if (collective.location() && collective.location()->size() > kLongestLocation)
      return broken(str(what, " has a location of ", collective.location()->size(), " bytes; ", kLongestLocation,
                        " are the most."));
    bool isOfRows = collective.kind() != schema::CollectiveKind::AllReduce;
    const auto *like = collective.like();
    if (isOfRows != (like != nullptr) || (like && like->size() != from.size()))
      return broken(str(what, " names ", like ? like->size() : 0, " sharded variables for ", from.size(), " tensors."));
    using Range = std::tuple<int, uint64_t, uint64_t, uint64_t>; // space, variable, begin, end
    std::vector<Range> ranges;
    for (flatbuffers::uoffset_t i = 0; i < from.size(); ++i) {
      std::string which = str(what, ", tensor ", i);
      for (const schema::Binding *binding : {from.Get(i), to.Get(i)}) {
        if (binding->space() == schema::Space::Size || binding->bytes() == 0 || binding->bytes() % alignment)
          return broken(which + " is no tensor of f32.");
        HEDDLE_CHECK(verifyBinding(*binding, 0, 1, which));
        if (binding->space() == schema::Space::Variable && isSharded(binding->index()))
          return broken(which + " is a sharded variable's, of which a rank has some rows only.");
        uint64_t index = binding->space() == schema::Space::Arena ? 0 : binding->index();
        Range range(static_cast<int>(binding->space()), index, binding->offset(), binding->offset() + binding->bytes());
        if (binding == from.Get(i) || range != ranges.back())
          ranges.push_back(range);
      }
      bool isState = like && isSharded(like->Get(i)) && module.variables()->Get(like->Get(i))->storage() == -1;
      if (like && (!isState || numbersOf(like->Get(i)) * kElementBytes != from.Get(i)->bytes()))
        return broken(str(which, " has ", from.Get(i)->bytes(), " bytes, and variable ", like->Get(i),
                          " is no sharded one of as many numbers of f32."));
      if (from.Get(i)->bytes() != to.Get(i)->bytes())
        return broken(str(which, " has ", from.Get(i)->bytes(), " bytes, and its result ", to.Get(i)->bytes(), "."));
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) {
      auto [space, index, begin, end] = ranges[i - 1];
      auto [nextSpace, nextIndex, nextBegin, nextEnd] = ranges[i];
      if (space == nextSpace && index == nextIndex && nextBegin < end)
        return broken(str(what, " has tensors that overlap at byte ", nextBegin, "."));
    }
    return Success();
  }

  uint64_t numbersOf(uint32_t index) const {
    const schema::Variable &variable = *module.variables()->Get(index);
    return variable.bytes() / elementBytes(variable.type()->element());
  }

  // Returns true if the variable is sharded; for a view, if the variable that stores it is.
  bool isSharded(uint32_t index) const {
    if (index >= module.variables()->size())
      return false;
    const schema::Variable &variable = *module.variables()->Get(index);
    return variable.storage() < 0 ? variable.sharded() : module.variables()->Get(variable.storage())->sharded();
  }

  bool isStateOfRows(uint32_t index, uint64_t rows) const {
    const schema::Variable &variable = *module.variables()->Get(index);
    return variable.storage() == -1 && static_cast<uint64_t>(variable.type()->dims()->Get(0)->extent()) == rows;
  }

  // L6
  Status verifyShard(flatbuffers::uoffset_t index, const std::string &what) const {
    const schema::Launch &launch = *entry.launches()->Get(index);
    const schema::Shard *shard = launch.shard();
    if (!shard)
      return Success();
    bool isState = isSharded(shard->variable()) && module.variables()->Get(shard->variable())->storage() == -1;
    if (!isState || shard->axis() > 2 || shard->tile() == 0 || isRepeated(index))
      return broken(str(what, " is shared out as variable ", shard->variable(), " along axis ", int(shard->axis()),
                        " by ", shard->tile(), " rows, which cannot be."));
    const auto &variable = *module.variables()->Get(shard->variable());
    auto rows = static_cast<uint64_t>(variable.type()->dims()->Get(0)->extent());
    uint64_t rowNumbers = variable.bytes() / rows / elementBytes(variable.type()->element());
    const schema::Grid &grid = *launch.grid()->Get(shard->axis());
    if (grid.size() != -1 || grid.repeat() != (rows + shard->tile() - 1) / shard->tile())
      return broken(str(what, " has ", grid.repeat(), " workgroups for ", rows, " rows, ", shard->tile(), " each."));
    const auto &rowBytes = *shard->row_bytes();
    if (rowBytes.size() != launch.bindings()->size() ||
        reinterpret_cast<uintptr_t>(rowBytes.Data()) % alignof(uint64_t))
      return broken(str(what, " has the rows of ", rowBytes.size(), " bindings for ", launch.bindings()->size(), "."));
    for (flatbuffers::uoffset_t i = 0; i < rowBytes.size(); ++i) {
      const schema::Binding &binding = *launch.bindings()->Get(i);
      bool isState = binding.space() == schema::Space::Variable && isSharded(binding.index());
      bool isOfRows = rowBytes.Get(i) == rowNumbers * 2 || rowBytes.Get(i) == rowNumbers * 4;
      bool isLike = isOfRows && binding.bytes() == rowBytes.Get(i) * rows && binding.space() != schema::Space::Size;
      bool isWholeState = isState && isLike && binding.offset() == 0 && isStateOfRows(binding.index(), rows);
      if (isState ? !isWholeState : !isLike && rowBytes.Get(i) != 0)
        return broken(str(what, ", binding ", i, " has no rows of ", rowBytes.Get(i), " bytes, as variable ",
                          shard->variable(), " has ", rows, "."));
    }
    return Success();
  }

  Status verifyLaunch(flatbuffers::uoffset_t index, const std::string &what) {
    const schema::Launch &launch = *entry.launches()->Get(index);
    if (launch.kernel() >= kernels)
      return broken(str(what, " names kernel ", launch.kernel(), ", and there are ", kernels, "."));
    if (!aligned(*launch.grid()) || !aligned(*launch.bindings()))
      return broken(what + " is misaligned.");
    if (launch.grid()->size() != 3)
      return broken(str(what, " has ", launch.grid()->size(), " grid axes, not 3."));
    for (const schema::Grid *grid : *launch.grid()) {
      if (grid->size() < -1 || grid->size() >= static_cast<int64_t>(module.sizes()->size()))
        return broken(str(what, " uses size ", grid->size(), ", and there are ", module.sizes()->size(), "."));
      HEDDLE_CHECK(checkBound(grid->size(), what));
      if (grid->repeat() == 0 || (grid->size() >= 0 && grid->tile() == 0))
        return broken(what + " has a grid axis whose tile or repeat is 0.");
      uint64_t tiles = 1;
      if (grid->size() >= 0)
        tiles = (static_cast<uint64_t>(module.sizes()->Get(grid->size())->maximum()) + grid->tile() - 1) / grid->tile();
      if (tiles * grid->repeat() > std::numeric_limits<uint32_t>::max()) // both are below 2^32
        return broken(what + " has more workgroups than a 32-bit number counts.");
    }
    if (launch.bindings()->size() > schema::kMaxBindings)
      return broken(
          str(what, " has ", launch.bindings()->size(), " bindings; ", schema::kMaxBindings, " are the most."));
    if (launch.strides()) { // L5
      if (launch.strides()->size() != launch.bindings()->size())
        return broken(
            str(what, " has ", launch.strides()->size(), " strides for ", launch.bindings()->size(), " bindings."));
      if (reinterpret_cast<uintptr_t>(launch.strides()->Data()) % alignof(uint64_t))
        return broken(what + " is misaligned.");
    }
    for (flatbuffers::uoffset_t i = 0; i < launch.bindings()->size(); ++i) {
      uint64_t stride = launch.strides() ? launch.strides()->Get(i) : 0;
      HEDDLE_CHECK(verifyBinding(*launch.bindings()->Get(i), stride, stepsOfLaunch[index], str(what, ", binding ", i)));
    }
    for (const schema::Target *target : plan.targets)
      if (const schema::Kernel &kernel = *target->kernels()->Get(launch.kernel()); kernel.texels())
        for (uint32_t argument : *kernel.texels())
          HEDDLE_CHECK(verifyTexels(launch, argument, kernel.texel_floats(), what));
    HEDDLE_CHECK(verifyTensors(launch, what));
    HEDDLE_CHECK(verifyShard(index, what));
    return verifyCost(launch.cost(), what);
  }

  // L4
  Status verifyTensors(const schema::Launch &launch, const std::string &what) const {
    if (launch.location() && launch.location()->size() > kLongestLocation)
      return broken(
          str(what, " has a location of ", launch.location()->size(), " bytes; ", kLongestLocation, " are the most."));
    flatbuffers::uoffset_t next = 0;
    for (const auto *types : {launch.reads(), launch.writes()})
      for (flatbuffers::uoffset_t i = 0; types && i < types->size(); ++i, ++next) {
        if (next >= launch.bindings()->size() || launch.bindings()->Get(next)->space() == schema::Space::Size)
          return broken(
              str(what, " reads or writes a tensor at binding ", next, ", which is not the binding of a tensor."));
        std::string tensor = str(what, ", binding ", next);
        HEDDLE_ASSIGN(uint64_t bytes, tensorBytes(module, types->Get(i), tensor));
        if (bytes > launch.bindings()->Get(next)->bytes())
          return broken(
              str(tensor, " has ", launch.bindings()->Get(next)->bytes(), " bytes, and its tensor needs ", bytes, "."));
        for (const schema::Dim *dim : *types->Get(i)->dims())
          HEDDLE_CHECK(checkBound(dim->size(), tensor));
      }
    return Success();
  }

  // L3
  Status verifyTexels(const schema::Launch &launch, uint32_t argument, uint32_t floats, const std::string &what) const {
    constexpr uint64_t alignment = 16;
    uint64_t texelBytes = uint64_t(4) * floats;
    if (floats != 4 && (module.schema_version() < schema::kSchemaVersionOfTexels || (floats != 1 && floats != 2)))
      return broken(str(what, " has a kernel whose texels have ", floats, " numbers."));
    if (argument >= launch.bindings()->size())
      return broken(str(what, " has no binding ", argument, ", which its kernel reads as texels."));
    const schema::Binding &binding = *launch.bindings()->Get(argument);
    bool moves = launch.strides() && launch.strides()->Get(argument) != 0;
    if (binding.space() == schema::Space::Size || moves || binding.offset() % alignment ||
        binding.bytes() % texelBytes || binding.bytes() == 0)
      return broken(str(what, ", binding ", argument, " lies at ", binding.offset(), " with ", binding.bytes(),
                        " bytes, which its kernel cannot read as texels of ", texelBytes, "."));
    return Success();
  }

  // C2. Launches share costs, so each cost is checked only once.
  Status verifyCost(int32_t index, const std::string &what) {
    if (index == -1)
      return Success();
    int64_t count = module.costs() ? module.costs()->size() : 0;
    if (index < -1 || index >= count)
      return broken(str(what, " names cost ", index, ", and there are ", count, "."));
    if (!checkedCosts.insert(index).second)
      return Success();
    const schema::Cost &cost = *module.costs()->Get(index);
    for (const auto *terms : {cost.flops(), cost.model_flops(), cost.bytes()}) {
      if (!terms)
        continue;
      for (const schema::CostTerm *term : *terms) {
        for (int32_t size : {term->first_size(), term->second_size(), term->third_size()})
          HEDDLE_CHECK(checkBound(size, what));
        if (term->pairs() < 0)
          continue;
        const schema::PairCount &pairs = *module.pairs()->Get(term->pairs());
        for (const flatbuffers::String *lengths : {pairs.queries(), pairs.keys()})
          if (lengths && !isVector(lengths->string_view()))
            return broken(
                str(what, " counts pairs by '", lengths->c_str(), "', which is not an i32 vector among the inputs."));
      }
    }
    return Success();
  }

  bool isVector(std::string_view input) const {
    return std::any_of(entry.inputs()->begin(), entry.inputs()->end(), [&](const schema::Port *port) {
      return port->name()->string_view() == input && port->type()->element() == schema::ElementType::I32 &&
             port->type()->dims()->size() == 1;
    });
  }

  Status verifyBinding(const schema::Binding &binding, uint64_t stride, uint64_t steps, const std::string &what) const {
    uint64_t room = 0;
    switch (binding.space()) {
    case schema::Space::Variable:
      if (binding.index() >= module.variables()->size())
        return broken(
            str(what, " names variable ", binding.index(), ", and there are ", module.variables()->size(), "."));
      room = module.variables()->Get(binding.index())->bytes();
      break;
    case schema::Space::Arena:
      room = arenaBytes;
      break;
    case schema::Space::Size:
      if (stride != 0)
        return broken(what + " is a size and moves on from step to step.");
      if (binding.index() >= module.sizes()->size())
        return broken(str(what, " names size ", binding.index(), ", and there are ", module.sizes()->size(), "."));
      return checkBound(static_cast<int32_t>(binding.index()), what);
    default:
      return broken(str(what, " is in an unknown space ", static_cast<int>(binding.space()), "."));
    }
    constexpr uint64_t mostStride = uint64_t(1) << 32; // steps are below 2^32, so the product does not overflow
    bool moves = stride % alignment || stride > mostStride;
    if (binding.offset() % alignment || moves || !fits(binding.offset(), binding.bytes(), room) ||
        !fits(binding.offset() + (steps - 1) * stride, binding.bytes(), room))
      return broken(str(what, " lies at ", binding.offset(), " with ", binding.bytes(), " bytes, where ", room, " are",
                        stride ? str(", and moves on by ", stride, " at each of ", steps, " steps.") : "."));
    if (binding.space() == schema::Space::Arena)
      return verifyOneBlock(binding.offset(), binding.offset() + (steps - 1) * stride + binding.bytes(), what);
    return Success();
  }

  const schema::Module &module;
  const schema::Entry &entry;
  const PlanTargets &plan;
  const uint64_t arenaBytes;
  std::vector<uint64_t> blockEnds; // in the arena; empty if it is one block
  const size_t kernels;
  std::vector<uint32_t> stepsOfLaunch; // 1 for a launch in no repetition
  std::unordered_set<int32_t> checkedCosts;
  std::vector<bool> bound; // by size: true if the inputs bind it
  const std::string where;
};

// P3 for the inputs or outputs of one entry.
Status samePorts(const schema::Entry &entry, const schema::Entry &own, bool input, const std::string &what) {
  const auto &ports = input ? *entry.inputs() : *entry.outputs(), &others = input ? *own.inputs() : *own.outputs();
  const char *kind = input ? "inputs" : "outputs";
  if (ports.size() != others.size())
    return broken(str(what, " has ", others.size(), " ", kind, ", and the module's has ", ports.size(), "."));
  for (flatbuffers::uoffset_t i = 0; i < ports.size(); ++i) {
    const schema::Port &port = *ports.Get(i), &other = *others.Get(i);
    if (port.name()->string_view() != other.name()->string_view())
      return broken(str(what, " has '", other.name()->c_str(), "' among its ", kind, " where the module's has '",
                        port.name()->c_str(), "'."));
    auto sameDim = [](const schema::Dim *a, const schema::Dim *b) {
      return a->size() == b->size() && (a->size() >= 0 || a->extent() == b->extent());
    };
    const auto &dims = *port.type()->dims(), &otherDims = *other.type()->dims();
    bool same = port.type()->element() == other.type()->element() && port.value_limit() == other.value_limit() &&
                std::equal(dims.begin(), dims.end(), otherDims.begin(), otherDims.end(), sameDim);
    if (!same)
      return broken(str(what, " has '", port.name()->c_str(), "' with another type than the module's."));
    auto roleOf = [](const schema::Port &port) {
      return port.role() ? port.role()->string_view() : std::string_view();
    };
    if (roleOf(port) != roleOf(other))
      return broken(str(what, " has '", port.name()->c_str(), "' with the role '", roleOf(other),
                        "', and the module's has '", roleOf(port), "'."));
  }
  return Success();
}

} // namespace

uint64_t PlanTargets::arenaBytes() const {
  uint64_t bytes = std::numeric_limits<uint64_t>::max();
  for (const schema::Target *target : targets)
    bytes = std::min(bytes, target->arena_bytes());
  return bytes;
}

Status verifyEntry(const schema::Module &module, const schema::Entry &entry, const PlanTargets &plan) {
  return EntryVerifier(module, entry, plan).verify();
}

Status verifySameInterface(const schema::Module &module, const schema::Target &target) {
  std::string where = str("target '", target.name()->c_str(), "'");
  if (target.entries()->size() != module.entries()->size())
    return broken(
        str(where, " has ", target.entries()->size(), " entries, and the module has ", module.entries()->size(), "."));
  for (flatbuffers::uoffset_t i = 0; i < module.entries()->size(); ++i) {
    const schema::Entry &entry = *module.entries()->Get(i), &own = *target.entries()->Get(i);
    HEDDLE_CHECK(checkName(own.name(), str(where, ", entry ", i)));
    if (own.name()->string_view() != entry.name()->string_view())
      return broken(
          str(where, " has the entry '", own.name()->c_str(), "' where the module has '", entry.name()->c_str(), "'."));
    std::string what = str("entry '", own.name()->c_str(), "' of ", where);
    HEDDLE_CHECK(samePorts(entry, own, /*input=*/true, what));
    HEDDLE_CHECK(samePorts(entry, own, /*input=*/false, what));
    if (!sameSegments(entry, own))
      return broken(what + " has other segments than the module's.");
  }
  return Success();
}

} // namespace heddle::verifier
