#include "runtime/session/NumberCheck.h"

#include "runtime/core/Narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle {
namespace {

// The indices of an element in a tensor, such as "[2,5]".
std::string placeIn(std::span<const int64_t> shape, uint64_t element) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0;) {
    auto extent = static_cast<uint64_t>(std::max<int64_t>(shape[axis], 1));
    text = str(element % extent, text.empty() ? "" : ",", text);
    element /= extent;
  }
  return "[" + text + "]";
}

template <typename T, typename Widen>
std::optional<BadNumbers> find(std::span<const std::byte> bytes, bool infinities, Widen widen) {
  BadNumbers bad;
  for (uint64_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));
    float value = widen(stored);
    if (infinities ? !std::isnan(value) : std::isfinite(value))
      continue;
    if (bad.count++ == 0) // a NaN's sign means nothing and should not be printed
      bad.value = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value, bad.first = i;
  }
  return bad.count == 0 ? std::nullopt : std::optional(bad);
}

// Calls `visit` with each tensor that the launch reads, or each that it writes.
template <typename Visit> Status forEach(const schema::Launch &launch, bool written, Visit visit) {
  const auto *types = written ? launch.writes() : launch.reads();
  flatbuffers::uoffset_t first = written && launch.reads() ? launch.reads()->size() : 0;
  for (flatbuffers::uoffset_t i = 0; types && i < types->size(); ++i)
    HEDDLE_CHECK(visit(*launch.bindings()->Get(first + i), *types->Get(i)));
  return Success();
}

} // namespace

std::optional<BadNumbers> findBadNumbers(schema::ElementType type, std::span<const std::byte> bytes, bool infinities) {
  switch (type) {
  case schema::ElementType::F32:
    return find<float>(bytes, infinities, [](float value) { return value; });
  case schema::ElementType::BF16:
    return find<uint16_t>(bytes, infinities, widenBF16);
  case schema::ElementType::F16:
    return find<uint16_t>(bytes, infinities, widenF16);
  case schema::ElementType::I32:
    break;
  }
  return std::nullopt;
}

std::string placeOf(const schema::Launch &launch) {
  return launch.location() ? str(" (", view(launch.location()), ")") : "";
}

NumberCheck::NumberCheck(DeviceState &state, const EntryMemory &memory, const schema::Entry &entry,
                         const CallBinding &binding)
    : state(state), memory(memory), entry(entry), binding(binding) {}

Status NumberCheck::begin() {
  for (const schema::Launch *launch : *entry.launches())
    if (!launch->writes())
      return makeError(
          ErrorKind::Unsupported, "entry '", view(entry.name()),
          "' cannot be searched for NaN: its artifact does not list the results of its launches. Compile the "
          "model anew.");
  for (flatbuffers::uoffset_t i = 0; i < entry.inputs()->size(); ++i) {
    const schema::Port &port = *entry.inputs()->Get(i);
    const TensorView &tensor = binding.inputs[i]->tensor;
    if (std::optional<BadNumbers> bad = findBadNumbers(port.type()->element(), tensor.bytes, false))
      note(Range(port),
           str(bad->value, " at ", placeIn(tensor.shape, bad->first), " of input '", view(port.name()), "'"));
  }
  return Success();
}

Result<std::optional<BadNumbers>> NumberCheck::look(const schema::Binding &at, const schema::TensorType &type) {
  std::optional<BadNumbers> none;
  Shape shape = boundShape(type, binding.sizes);
  uint64_t elements = 1;
  for (int64_t extent : shape)
    elements *= static_cast<uint64_t>(extent);
  if (type.element() == schema::ElementType::I32 || elements == 0)
    return none;
  numbers.resize(elements * elementBytes(type.element()));
  EntryMemory::Place place{nullptr, at.offset()};
  if (at.space() == schema::Space::Variable) {
    HEDDLE_ASSIGN(place.buffer, state.variable(at.index()));
  } else {
    place = memory.at(at.offset(), at.bytes());
  }
  HEDDLE_CHECK(state.device.read(*place.buffer, place.offset, numbers));
  return findBadNumbers(type.element(), numbers, infinities);
}

void NumberCheck::note(const Range &range, std::string text) { given.push_back({range, std::move(text)}); }

Status NumberCheck::before(const LaunchRun &run) {
  // Values in the arena need no check: they are inputs, or were checked when they were written.
  return forEach(*entry.launches()->Get(run.launch), /*written=*/false,
                 [&](const schema::Binding &at, const schema::TensorType &type) -> Status {
                   if (at.space() != schema::Space::Variable || !known.insert(Range(at)).second)
                     return Success();
                   HEDDLE_ASSIGN(std::optional<BadNumbers> bad, look(at, type));
                   if (bad)
                     note(Range(at), describe(at, type, *bad));
                   return Success();
                 });
}

Status NumberCheck::after(const LaunchRun &run) {
  const schema::Launch &launch = *entry.launches()->Get(run.launch);
  infinities |= launch.infinities();
  auto isOfStep = [&](const schema::TensorType &type) {
    return run.repeat && type.dims()->size() > 0 &&
           type.dims()->Get(0)->size() == static_cast<int64_t>(run.repeat->rows());
  };
  if (run.repeat && run.step != (run.repeat->reverse() ? 0 : stepsOf(*run.repeat, binding.sizes) - 1))
    return Success();
  std::string found;
  HEDDLE_CHECK(
      forEach(launch, /*written=*/true, [&](const schema::Binding &at, const schema::TensorType &type) -> Status {
        if (isOfStep(type))
          return Success();
        HEDDLE_ASSIGN(std::optional<BadNumbers> bad, look(at, type));
        if (!bad)
          return Success();
        uint64_t elements = numbers.size() / elementBytes(type.element());
        found += str(found.empty() ? "" : ", and ", describe(at, type, *bad), " (", bad->count, " of ", elements,
                     " are not finite)");
        return Success();
      }));
  if (!found.empty())
    return makeError(ErrorKind::InvalidArgument, "entry '", view(entry.name()), "', launch ", run.launch, " of ",
                     entry.launches()->size(), ", kernel '", view(state.target.kernels()->Get(launch.kernel())->name()),
                     "'", placeOf(launch), ": it wrote ", found, ". ", describeInputs(launch));
  return forEach(launch, /*written=*/true, [&](const schema::Binding &at, const schema::TensorType &) -> Status {
    Range range(at);
    known.insert(range);
    std::erase_if(given, [&](const Given &numbers) { return numbers.range.overlaps(range); });
    return Success();
  });
}

std::string NumberCheck::describe(const schema::Binding &at, const schema::TensorType &type,
                                  const BadNumbers &bad) const {
  Shape shape = boundShape(type, binding.sizes);
  std::string text = str(bad.value, " at ");
  if (at.space() == schema::Space::Variable) {
    // If the variable is storage for views, names the view, since callers know only views.
    uint64_t byte = at.offset() + bad.first * elementBytes(type.element());
    for (const schema::Variable *variable : *state.module.variables())
      if (variable->storage() == static_cast<int64_t>(at.index()) && variable->storage_offset() <= byte &&
          byte < variable->storage_offset() + variable->bytes())
        return text + str(placeIn(maximumShape(state.module, *variable->type()),
                                  (byte - variable->storage_offset()) / elementBytes(variable->type()->element())),
                          " of variable '", view(variable->name()), "'");
    const schema::Variable &variable = *state.module.variables()->Get(at.index());
    bool isAsDeclared = type.element() == variable.type()->element(); // false for 16-bit copies of weights
    return text + str(isAsDeclared
                          ? placeIn(maximumShape(state.module, *variable.type()), byte / elementBytes(type.element()))
                          : placeIn(shape, bad.first),
                      " of variable '", view(variable.name()), "'");
  }
  std::string extents;
  for (int64_t extent : shape)
    extents += str(extents.empty() ? "" : ",", extent);
  return text + str(placeIn(shape, bad.first), " of a ", toString(type.element()), "[", extents, "]");
}

std::string NumberCheck::describeInputs(const schema::Launch &launch) const {
  std::string text;
  (void)forEach(launch, /*written=*/false, [&](const schema::Binding &at, const schema::TensorType &) -> Status {
    for (const Given &numbers : given)
      if (numbers.range.overlaps(Range(at)) && text.find(numbers.text) == std::string::npos)
        text += (text.empty() ? "" : ", and ") + numbers.text;
    return Success();
  });
  return text.empty() ? "All values that it read were finite."
                      : "It read " + text + ", which was there before the call.";
}

} // namespace heddle
