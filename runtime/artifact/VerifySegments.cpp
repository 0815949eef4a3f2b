#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Verify.h"
#include "runtime/schema/Constants.h"

#include <algorithm>
#include <limits>

namespace heddle::verifier {
namespace {

class SegmentsVerifier {
public:
  SegmentsVerifier(const schema::Module &module, const schema::Entry &entry, const std::vector<bool> &bound,
                   std::string what)
      : module(module), entry(entry), bound(bound), what(std::move(what)) {}

  Status verify(const schema::Segments &segments) {
    HEDDLE_CHECK(verifyExtent(segments.places()));
    HEDDLE_CHECK(verifyExtent(segments.rows()));
    HEDDLE_CHECK(verifySum(*segments.first()));
    HEDDLE_CHECK(verifySum(*segments.count()));
    if (segments.list() != -1) {
      HEDDLE_CHECK(verifyExtent(segments.listed()));
      HEDDLE_CHECK(verifyInput(segments.list(), /*rank=*/2));
    }
    return namesInput ? Status(Success()) : Status(broken(what + " names no input."));
  }

private:
  Status verifyExtent(const schema::Dim *extent) const {
    if (!extent)
      return broken(what + " lacks an extent.");
    if (extent->size() < -1 || extent->size() >= static_cast<int64_t>(module.sizes()->size()))
      return broken(str(what, " uses size ", extent->size(), ", and there are ", module.sizes()->size(), "."));
    if (extent->size() < 0 && (extent->extent() < 0 || extent->extent() > schema::kMaxConstant))
      return broken(str(what, " has an extent of ", extent->extent(), "."));
    if (extent->size() >= 0 && !bound[static_cast<size_t>(extent->size())])
      return broken(str(what, " uses size '", view(module.sizes()->Get(extent->size())->name()),
                        "', which no input of the entry binds."));
    return Success();
  }

  Status verifyInput(int64_t index, size_t rank) {
    if (index < 0 || index >= static_cast<int64_t>(entry.inputs()->size()))
      return broken(str(what, " names input ", index, ", and there are ", entry.inputs()->size(), "."));
    const schema::Port &port = *entry.inputs()->Get(static_cast<flatbuffers::uoffset_t>(index));
    if (port.type()->element() != schema::ElementType::I32 || port.type()->dims()->size() != rank)
      return broken(str(what, " names '", view(port.name()), "', which is no i32 tensor of ", rank, " dimensions."));
    namesInput = true;
    return Success();
  }

  Status verifySum(const schema::Sum &sum) {
    if (std::abs(std::clamp(sum.constant(), -schema::kMaxConstant - 1, schema::kMaxConstant + 1)) >
        schema::kMaxConstant)
      return broken(str(what, " has the constant ", sum.constant(), "."));
    if (!sum.addends())
      return Success();
    if (!aligned(*sum.addends()))
      return broken(what + " is misaligned.");
    if (sum.addends()->size() > schema::kMaxAddends)
      return broken(str(what, " adds ", sum.addends()->size(), " inputs; ", schema::kMaxAddends, " are the most."));
    for (const schema::Addend *addend : *sum.addends()) {
      HEDDLE_CHECK(verifyInput(addend->input(), /*rank=*/1));
      if (std::abs(int64_t(addend->coefficient())) > schema::kMaxCoefficient)
        return broken(str(what, " has the coefficient ", addend->coefficient(), "."));
      if (addend->from() < 0 || addend->from() > std::numeric_limits<int32_t>::max())
        return broken(str(what, " begins at element ", addend->from(), "."));
    }
    return Success();
  }

  const schema::Module &module;
  const schema::Entry &entry;
  const std::vector<bool> &bound;
  const std::string what;
  bool namesInput = false;
};

bool same(const schema::Dim *a, const schema::Dim *b) {
  return !a || !b ? a == b : a->size() == b->size() && a->extent() == b->extent();
}

bool same(const schema::Sum &a, const schema::Sum &b) {
  size_t addends = a.addends() ? a.addends()->size() : 0;
  if (a.constant() != b.constant() || addends != (b.addends() ? b.addends()->size() : 0))
    return false;
  return addends == 0 ||
         std::equal(a.addends()->begin(), a.addends()->end(), b.addends()->begin(), [](const auto *x, const auto *y) {
           return x->input() == y->input() && x->coefficient() == y->coefficient() && x->from() == y->from();
         });
}

} // namespace

Status verifySegments(const schema::Module &module, const schema::Entry &entry, const std::vector<bool> &bound,
                      const std::string &what) {
  if (!entry.segments())
    return Success();
  if (entry.segments()->size() > schema::kMaxSegments)
    return broken(str(what, " has ", entry.segments()->size(), " segments; ", schema::kMaxSegments, " are the most."));
  for (flatbuffers::uoffset_t i = 0; i < entry.segments()->size(); ++i)
    HEDDLE_CHECK(SegmentsVerifier(module, entry, bound, str(what, ", segments ", i)).verify(*entry.segments()->Get(i)));
  return Success();
}

bool sameSegments(const schema::Entry &entry, const schema::Entry &own) {
  size_t count = entry.segments() ? entry.segments()->size() : 0;
  if (count != (own.segments() ? own.segments()->size() : 0))
    return false;
  return count == 0 || std::equal(entry.segments()->begin(), entry.segments()->end(), own.segments()->begin(),
                                  [](const schema::Segments *a, const schema::Segments *b) {
                                    return same(a->places(), b->places()) && same(*a->first(), *b->first()) &&
                                           same(*a->count(), *b->count()) && same(a->rows(), b->rows()) &&
                                           a->list() == b->list() && same(a->listed(), b->listed());
                                  });
}

} // namespace heddle::verifier
