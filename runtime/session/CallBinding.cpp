#include "runtime/session/CallBinding.h"

#include "runtime/session/SegmentCheck.h"

#include <algorithm>
#include <optional>

namespace heddle {
namespace {

// A training step has tens of thousands of values. The inner loop has no branch and a fixed length, so that compilers
// vectorize it.
bool allBelow(std::span<const int32_t> values, int64_t limit) {
  constexpr size_t run = 64;
  auto bound = static_cast<uint32_t>(std::min(limit, int64_t(1) << 31)); // cast to unsigned, negative values exceed it
  uint32_t outside = 0;
  size_t i = 0;
  for (; i + run <= values.size(); i += run)
    for (size_t j = 0; j < run; ++j)
      outside |= static_cast<uint32_t>(values[i + j]) >= bound;
  for (; i < values.size(); ++i)
    outside |= static_cast<uint32_t>(values[i]) >= bound;
  return !outside;
}

int64_t partOf(const schema::Size &size, int64_t whole) {
  whole *= size.times();
  if (size.within())
    return whole > size.from() && whole <= size.maximum() ? whole : 0;
  return std::clamp<int64_t>(whole - size.from(), 0, size.maximum());
}

class CallBinder {
public:
  CallBinder(const schema::Module &module, const schema::Entry &entry)
      : module(module), entry(entry), sizes(module.sizes()->size()), boundBy(module.sizes()->size(), nullptr) {}

  Result<CallBinding> bind(std::span<const Input> given) {
    CallBinding binding;
    HEDDLE_ASSIGN(binding.inputs, match(given));
    for (flatbuffers::uoffset_t i = 0; i < entry.inputs()->size(); ++i)
      HEDDLE_CHECK(bindShape(*entry.inputs()->Get(i), binding.inputs[i]->tensor));
    for (flatbuffers::uoffset_t i = 0; i < entry.inputs()->size(); ++i)
      HEDDLE_CHECK(checkValues(*entry.inputs()->Get(i), binding.inputs[i]->tensor));
    for (flatbuffers::uoffset_t i = 0; i < module.sizes()->size(); ++i)
      if (const schema::Size &size = *module.sizes()->Get(i); size.fixed())
        sizes[i] = static_cast<int32_t>(size.maximum());
      else if (size.max_of_input())
        HEDDLE_CHECK(bindToLargest(static_cast<int32_t>(i), view(size.max_of_input()), binding));
    for (flatbuffers::uoffset_t i = 0; i < module.sizes()->size(); ++i)
      if (const schema::Size &size = *module.sizes()->Get(i); size.of_size() >= 0)
        sizes[i] = static_cast<int32_t>(partOf(size, sizes[static_cast<size_t>(size.of_size())]));
    binding.sizes = std::move(sizes);
    HEDDLE_CHECK(checkSegments(module, entry, binding));
    return binding;
  }

private:
  template <typename... Parts> Error invalid(const Parts &...parts) const {
    return makeError(ErrorKind::InvalidArgument, "entry '", view(entry.name()), "': ", parts...);
  }

  // Callers mostly give the inputs in the entry's order, so the search begins behind the input before.
  Result<std::vector<const Input *>> match(std::span<const Input> given) const {
    std::vector<const Input *> matched(entry.inputs()->size(), nullptr);
    size_t port = 0;
    for (const Input &input : given) {
      size_t tried = 0;
      for (; tried < matched.size(); ++tried, ++port) {
        port = port < matched.size() ? port : 0;
        if (view(entry.inputs()->Get(static_cast<flatbuffers::uoffset_t>(port))->name()) == input.name)
          break;
      }
      if (tried == matched.size())
        return invalid("there is no input '", input.name, "'. Its inputs are: ", names(), ".");
      const Input *&slot = matched[port++];
      if (slot)
        return invalid("input '", input.name, "' is given twice.");
      slot = &input;
    }
    for (size_t i = 0; i < matched.size(); ++i)
      if (!matched[i])
        return invalid("input '", view(entry.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i))->name()),
                       "' is missing. Its inputs are: ", names(), ".");
    return matched;
  }

  Status bindShape(const schema::Port &port, const TensorView &tensor) {
    std::string_view name = view(port.name());
    const auto &dims = *port.type()->dims();
    ElementType type = elementType(*port.type());
    if (tensor.type != type)
      return invalid("input '", name, "' is ", toString(tensor.type), ", and the entry takes ", toString(type), ".");
    if (tensor.shape.size() != dims.size())
      return invalid("input '", name, "' is ", describe(tensor.type, tensor.shape), ", and the entry takes ",
                     dims.size(), " dimension", dims.size() == 1 ? "" : "s", ".");
    std::optional<int64_t> count = elementCount(tensor.shape);
    if (!count || static_cast<uint64_t>(*count) * kElementBytes != tensor.bytes.size())
      return invalid("input '", name, "' has ", tensor.bytes.size(), " bytes, and other than ",
                     describe(tensor.type, tensor.shape), " needs.");
    for (flatbuffers::uoffset_t axis = 0; axis < dims.size(); ++axis) {
      const schema::Dim &dim = *dims.Get(axis);
      int64_t extent = tensor.shape[axis];
      if (dim.size() >= 0)
        HEDDLE_CHECK(bindSize(dim.size(), extent, port));
      else if (extent != dim.extent())
        return invalid("input '", name, "' is ", describe(tensor.type, tensor.shape), ", and its dimension ", axis,
                       " must be ", dim.extent(), ".");
    }
    return Success();
  }

  Status bindSize(int32_t index, int64_t value, const schema::Port &port) {
    const schema::Size &size = *module.sizes()->Get(index);
    if (value < 0 || value > size.maximum())
      return invalid("input '", view(port.name()), "' makes size '", view(size.name()), "' ", value,
                     ", and the artifact was compiled for ", size.maximum(), " at most.");
    if (boundBy[index] && sizes[index] != value)
      return invalid("input '", view(port.name()), "' makes size '", view(size.name()), "' ", value, ", and input '",
                     view(boundBy[index]->name()), "' makes it ", sizes[index], ".");
    sizes[index] = static_cast<int32_t>(value);
    if (!boundBy[index])
      boundBy[index] = &port;
    return Success();
  }

  Status checkValues(const schema::Port &port, const TensorView &tensor) {
    if (tensor.type != ElementType::I32)
      return Success();
    std::string_view name = view(port.name());
    std::span<const int32_t> values = tensor.values<int32_t>();
    if (Status status = checkLimit(values, port.value_limit()); !status)
      return invalid("input '", name, "' ", status.message());
    return Success();
  }

  // Binds a size to the largest value of an input, if the entry has it.
  Status bindToLargest(int32_t size, std::string_view input, const CallBinding &binding) {
    for (flatbuffers::uoffset_t i = 0; i < entry.inputs()->size(); ++i)
      if (const TensorView &tensor = binding.inputs[i]->tensor;
          tensor.type == ElementType::I32 && view(entry.inputs()->Get(i)->name()) == input) {
        std::span<const int32_t> values = tensor.values<int32_t>();
        HEDDLE_CHECK(bindSize(size, values.empty() ? 0 : std::ranges::max(values), *entry.inputs()->Get(i)));
      }
    return Success();
  }

  std::string names() const {
    std::string list;
    for (const schema::Port *port : *entry.inputs())
      list += (list.empty() ? "" : ", ") + std::string(view(port->name()));
    return list.empty() ? "none" : list;
  }

  const schema::Module &module;
  const schema::Entry &entry;
  std::vector<int32_t> sizes;
  std::vector<const schema::Port *> boundBy; // by size: the input that bound it
};

} // namespace

Status checkLimit(std::span<const int32_t> values, int64_t limit) {
  if (limit > 0 && !allBelow(values, limit))
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] < 0 || values[i] >= limit)
        return makeError(ErrorKind::InvalidArgument, "holds ", values[i], " at index ", i,
                         ", and its values lie in [0, ", limit, ").");
  return Success();
}

Result<CallBinding> bindCall(const schema::Module &module, const schema::Entry &entry, std::span<const Input> inputs) {
  return CallBinder(module, entry).bind(inputs);
}

Shape boundShape(const schema::TensorType &type, std::span<const int32_t> sizes) {
  Shape shape;
  for (const schema::Dim *dim : *type.dims())
    shape.push_back(dim->size() < 0 ? dim->extent() : sizes[static_cast<size_t>(dim->size())]);
  return shape;
}

uint64_t workgroups(const schema::Grid &grid, std::span<const int32_t> sizes) {
  if (grid.size() < 0)
    return grid.repeat();
  uint64_t size = static_cast<uint64_t>(sizes[static_cast<size_t>(grid.size())]);
  return (size + grid.tile() - 1) / grid.tile() * grid.repeat();
}

} // namespace heddle
