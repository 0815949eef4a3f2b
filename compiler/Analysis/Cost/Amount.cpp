#include "compiler/Analysis/Cost/Cost.h"

using namespace mlir;
using namespace mlir::heddle;

Amount Amount::extent(Type tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor);
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  Amount amount;
  amount.add({1, {StringAttr::get(type.getContext(), getSizeName(type, dim))}, {}});
  return amount;
}

Amount Amount::elements(Type tensor) {
  Amount product = 1;
  for (int64_t dim = 0; dim < cast<RankedTensorType>(tensor).getRank(); ++dim)
    product = product * extent(tensor, dim);
  return product;
}

Amount Amount::bytes(Type tensor) {
  return elements(tensor) * llvm::divideCeil(cast<RankedTensorType>(tensor).getElementTypeBitWidth(), 8);
}

Amount &Amount::operator+=(const Amount &other) {
  for (const Term &term : other.terms)
    add(term);
  return *this;
}

Amount Amount::operator*(const Amount &other) const {
  Amount product;
  for (const Term &x : terms)
    for (const Term &y : other.terms) {
      assert((!x.pairs || !y.pairs) && "a product of two counts of pairs");
      Term term{x.coefficient * y.coefficient, x.sizes, x.pairs ? x.pairs : y.pairs};
      llvm::append_range(term.sizes, y.sizes);
      llvm::sort(term.sizes, [](StringAttr s, StringAttr t) { return s.getValue() < t.getValue(); });
      product.add(std::move(term));
    }
  return product;
}

void Amount::add(Term term) {
  if (term.coefficient == 0)
    return;
  for (Term &known : terms)
    if (known.sizes == term.sizes && known.pairs == term.pairs) {
      known.coefficient += term.coefficient;
      return;
    }
  terms.push_back(std::move(term));
}

SmallVector<TermAttr> Amount::toTerms(MLIRContext *context) const {
  return llvm::map_to_vector(
      terms, [&](const Term &term) { return TermAttr::get(context, term.coefficient, term.sizes, term.pairs); });
}

SizeMaxima mlir::heddle::getSizeMaxima(ModuleOp module) {
  SizeMaxima maxima;
  for (auto size : module.getOps<SizeOp>())
    maxima[size.getSymName()] = size.getMaximum();
  return maxima;
}

int64_t mlir::heddle::evaluateAtMaximum(ArrayRef<TermAttr> terms, const SizeMaxima &maxima) {
  int64_t sum = 0;
  for (TermAttr term : terms) {
    int64_t product = term.getCoefficient();
    for (StringAttr size : term.getSizes())
      product *= maxima.lookup(size);
    sum += product * (term.getPairs() ? term.getPairs().getMaximum() : 1);
  }
  return sum;
}
