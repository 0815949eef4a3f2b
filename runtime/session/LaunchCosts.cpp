#include "runtime/session/LaunchCosts.h"

#include "runtime/session/LaunchRuns.h"

#include <algorithm>
#include <map>

namespace heddle {
namespace {

class CostEvaluator {
public:
  CostEvaluator(const schema::Module &module, const schema::Entry &entry, const CallBinding &binding)
      : module(module), entry(entry), binding(binding) {}

  // The cost of a launch; for a repetition, of all its steps together.
  LaunchCost evaluate(int32_t index, const schema::Repeat *repeat) {
    if (index < 0)
      return {};
    auto [known, isNew] = costs.try_emplace({index, repeat});
    if (isNew) {
      const schema::Cost &cost = *module.costs()->Get(static_cast<flatbuffers::uoffset_t>(index));
      known->second = {true, sum(cost.flops(), repeat), sum(cost.model_flops(), repeat), sum(cost.bytes(), repeat)};
    }
    return known->second;
  }

private:
  double sum(const flatbuffers::Vector<const schema::CostTerm *> *terms, const schema::Repeat *repeat) {
    double sum = 0;
    if (terms)
      for (const schema::CostTerm *term : *terms) {
        double product = double(term->coefficient());
        bool isOfRows = false; // the term has a step's rows as a factor; the rows of all steps are the tokens
        for (int32_t size : {term->first_size(), term->second_size(), term->third_size()}) {
          bool isRows = repeat && !isOfRows && size == static_cast<int64_t>(repeat->rows());
          if (size >= 0)
            product *= binding.sizes[isRows ? repeat->tokens() : static_cast<size_t>(size)];
          isOfRows |= isRows;
        }
        if (repeat && !isOfRows)
          product *= stepsOf(*repeat, binding.sizes);
        sum += term->pairs() < 0 ? product : product * double(pairs(term->pairs()));
      }
    return sum;
  }

  int64_t pairs(int32_t index) {
    auto [known, isNew] = pairCounts.try_emplace(index);
    if (isNew) {
      const schema::PairCount &count = *module.pairs()->Get(static_cast<flatbuffers::uoffset_t>(index));
      known->second = countPairs(lengths(count.queries()), lengths(count.keys()), count.below(), count.above());
    }
    return known->second;
  }

  std::span<const int32_t> lengths(const flatbuffers::String *name) const {
    for (flatbuffers::uoffset_t i = 0; name && i < entry.inputs()->size(); ++i)
      if (view(entry.inputs()->Get(i)->name()) == view(name))
        return binding.inputs[i]->tensor.values<int32_t>();
    return {};
  }

  const schema::Module &module;
  const schema::Entry &entry;
  const CallBinding &binding;
  std::map<std::pair<int32_t, const schema::Repeat *>, LaunchCost> costs;
  std::map<int32_t, int64_t> pairCounts;
};

} // namespace

int64_t countPairs(std::span<const int32_t> queries, std::span<const int32_t> keys, int64_t below, int64_t above) {
  int64_t count = 0;
  for (size_t i = 0; i < (queries.empty() ? keys.size() : std::min(queries.size(), keys.size())); ++i)
    for (int64_t query = 0, last = queries.empty() ? 1 : queries[i]; query < last; ++query) {
      int64_t first = below < 0 ? 0 : std::max<int64_t>(0, query - below);
      // An artifact may contain any value that fits the field: `query + above` could overflow.
      int64_t end = above < 0 || above >= keys[i] - query ? keys[i] : query + above + 1;
      count += std::max<int64_t>(0, end - first);
    }
  return count;
}

std::vector<LaunchCost> launchCosts(const schema::Module &module, const schema::Entry &entry,
                                    const CallBinding &binding) {
  CostEvaluator evaluator(module, entry, binding);
  std::vector<LaunchCost> costs;
  for (flatbuffers::uoffset_t i = 0; i < entry.launches()->size(); ++i) {
    const schema::Launch &launch = *entry.launches()->Get(i);
    bool isEmpty = std::ranges::any_of(*launch.grid(),
                                       [&](const schema::Grid *grid) { return workgroups(*grid, binding.sizes) == 0; });
    LaunchCost cost = evaluator.evaluate(launch.cost(), findRepeat(entry, i));
    costs.push_back(isEmpty ? LaunchCost{cost.known, 0, 0, 0} : cost);
  }
  return costs;
}

} // namespace heddle
