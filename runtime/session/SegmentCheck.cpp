#include "runtime/session/SegmentCheck.h"

#include <algorithm>
#include <limits>

namespace heddle {
namespace {

class SegmentChecker {
public:
  SegmentChecker(const schema::Module &module, const schema::Entry &entry, const CallBinding &binding,
                 const schema::Segments &segments)
      : module(module), entry(entry), binding(binding), segments(segments), rows(extentOf(*segments.rows())) {}

  Status check() const {
    std::vector<Term> firstTerms = termsOf(*segments.first()), countTerms = termsOf(*segments.count());
    int64_t places = placesOf(firstTerms, countTerms);
    for (int64_t place = 0; place < places; ++place) {
      int64_t first = valueOf(*segments.first(), firstTerms, place),
              count = valueOf(*segments.count(), countTerms, place);
      if (count < 0 || (count > 0 && (first < 0 || first > rows - count)))
        return outside(place, first, count);
      if (segments.list() >= 0)
        HEDDLE_CHECK(checkList(place, first, count));
    }
    return Success();
  }

private:
  struct Term {
    std::span<const int32_t> values;
    int64_t coefficient, from;
    bool isRepeated; // the input has one element, for all places
    std::string_view input;

    int64_t at(int64_t place) const { return isRepeated ? 0 : from + place; }
  };

  // The number of places that all inputs have elements for. If every term is the same at all places, one place is
  // enough.
  int64_t placesOf(const std::vector<Term> &first, const std::vector<Term> &count) const {
    constexpr int64_t any = std::numeric_limits<int64_t>::max();
    int64_t places = segments.list() >= 0 ? listOf().tensor.shape[0] : any;
    for (const std::vector<Term> *terms : {&first, &count})
      for (const Term &term : *terms)
        places = term.isRepeated ? places : std::min(places, int64_t(term.values.size()) - term.from);
    return std::min(extentOf(*segments.places()), places == any ? 1 : places);
  }

  int64_t extentOf(const schema::Dim &dim) const {
    return dim.size() < 0 ? dim.extent() : binding.sizes[static_cast<size_t>(dim.size())];
  }
  const Input &listOf() const { return *binding.inputs[static_cast<size_t>(segments.list())]; }

  std::vector<Term> termsOf(const schema::Sum &sum) const {
    std::vector<Term> terms;
    if (sum.addends())
      for (const schema::Addend *addend : *sum.addends()) {
        const schema::Dim &dim = *entry.inputs()->Get(addend->input())->type()->dims()->Get(0);
        const Input &input = *binding.inputs[addend->input()];
        terms.push_back({input.tensor.values<int32_t>(), addend->coefficient(), addend->from(),
                         dim.size() < 0 && dim.extent() == 1, input.name});
      }
    return terms;
  }

  static int64_t valueOf(const schema::Sum &sum, const std::vector<Term> &terms, int64_t place) {
    int64_t value = sum.constant();
    for (const Term &term : terms)
      value += term.coefficient * term.values[static_cast<size_t>(term.at(place))];
    return value;
  }

  Status checkList(int64_t place, int64_t first, int64_t count) const {
    int64_t width = listOf().tensor.shape[1], listed = extentOf(*segments.listed());
    std::span<const int32_t> row =
        listOf().tensor.values<int32_t>().subspan(static_cast<size_t>(place * width), static_cast<size_t>(width));
    for (int64_t i = first; i < std::min(first + count, width); ++i)
      if (int32_t value = row[static_cast<size_t>(i)]; value < 0 || value >= listed)
        return invalid("input '", listOf().name, "' holds ", value, " at [", place, ", ", i, "], and there are ",
                       listed, " rows", sizeOf(*segments.listed()), ".");
    return Success();
  }

  Status outside(int64_t place, int64_t first, int64_t count) const {
    std::string inputs;
    for (const schema::Sum *sum : {segments.first(), segments.count()})
      for (const Term &term : termsOf(*sum))
        inputs += str(inputs.empty() ? "" : " and ", "input '", term.input, "' holds ",
                      term.values[static_cast<size_t>(term.at(place))], " at index ", term.at(place));
    bool isIndex = !segments.count()->addends() && count == 1;
    std::string named = isIndex ? str("row ", first) : str("start ", first, ", length ", count);
    return invalid(inputs, ": ", named, ", and there are ", rows, " rows", sizeOf(*segments.rows()), ".");
  }

  // " (size 'source_tokens')", or nothing for a fixed extent.
  std::string sizeOf(const schema::Dim &dim) const {
    return dim.size() < 0 ? "" : str(" (size '", view(module.sizes()->Get(dim.size())->name()), "')");
  }

  template <typename... Parts> Error invalid(const Parts &...parts) const {
    return makeError(ErrorKind::InvalidArgument, "entry '", view(entry.name()), "': ", parts...);
  }

  const schema::Module &module;
  const schema::Entry &entry;
  const CallBinding &binding;
  const schema::Segments &segments;
  const int64_t rows;
};

} // namespace

Status checkSegments(const schema::Module &module, const schema::Entry &entry, const CallBinding &binding) {
  if (entry.segments())
    for (const schema::Segments *segments : *entry.segments())
      HEDDLE_CHECK(SegmentChecker(module, entry, binding, *segments).check());
  return Success();
}

} // namespace heddle
