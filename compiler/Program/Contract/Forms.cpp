#include "compiler/Program/Contract/Forms.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kLowest = std::numeric_limits<int32_t>::min(), kHighest = std::numeric_limits<int32_t>::max();

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static std::optional<int64_t> constantOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  if (auto fill = value.getDefiningOp<FillOp>())
    if (auto integer = dyn_cast<IntegerAttr>(fill.getValue()))
      return integer.getInt();
  return std::nullopt;
}

StringAttr mlir::heddle::inputName(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "heddle.name") : StringAttr();
}

Extent Extent::of(Value tensor, int64_t dim) {
  RankedTensorType type = typeOf(tensor);
  if (type.isDynamicDim(dim))
    return {StringAttr::get(type.getContext(), getSizeName(type, dim))};
  return {{}, type.getDimSize(dim)};
}

Extent Extent::ofSize(StringAttr size) { return size.empty() ? Extent{{}, 1} : Extent{size}; }

//===-- Forms ---------------------------------------------------------------------------------------------------===//

Form Form::ofExtent(const Extent &extent) {
  return extent.size ? Form{{{Value(), extent.size, 0, 1}}, 0} : ofConstant(extent.number);
}

Form Form::plus(const Form &other, int64_t times) const {
  Form sum = *this;
  sum.constant += other.constant * times;
  for (Term term : other.terms) {
    term.coefficient *= times;
    auto *known = llvm::find_if(sum.terms, [&](const Term &mine) {
      return mine.value == term.value && mine.size == term.size && mine.from == term.from;
    });
    if (known == sum.terms.end())
      sum.terms.push_back(term);
    else
      known->coefficient += term.coefficient;
  }
  llvm::erase_if(sum.terms, [](const Term &term) { return term.coefficient == 0; });
  return sum;
}

/// `depth` bounds the recursion: in a chain of n ops that use their operand twice, the walk would take 2^n steps.
static Form formOf(Value value, unsigned depth) {
  Form itself{{{value, StringAttr(), 0, 1}}, 0};
  if (std::optional<int64_t> constant = constantOf(value))
    return Form::ofConstant(*constant);
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || typeOf(value).getRank() != 1)
    return itself;
  auto of = [&](Value operand) { return formOf(operand, depth - 1); };
  return llvm::TypeSwitch<Operation *, Form>(op)
      .Case([&](arith::AddIOp add) { return of(add.getLhs()).plus(of(add.getRhs())); })
      .Case([&](arith::SubIOp sub) { return of(sub.getLhs()).plus(of(sub.getRhs()), -1); })
      .Case([&](arith::MulIOp mul) {
        for (auto [factor, other] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
          if (std::optional<int64_t> constant = constantOf(factor))
            return Form::ofConstant(0).plus(of(other), *constant);
        return itself;
      })
      .Case([&](BroadcastOp broadcast) {
        return typeOf(broadcast.getInput()).getDimSize(0) == 1 ? of(broadcast.getInput()) : itself;
      })
      .Case([&](SliceOp slice) {
        Form form = of(slice.getInput());
        for (Form::Term &term : form.terms)
          if (typeOf(term.value).getShape() != ArrayRef<int64_t>{1}) // single elements do not move
            term.from += static_cast<int64_t>(slice.getFrom());
        return form;
      })
      .Default(itself);
}

Form Form::ofValue(Value value) { return formOf(value, 12); }

//===-- Bounds --------------------------------------------------------------------------------------------------===//

Bounds::Bounds(ModuleOp module) : maxima(getSizeMaxima(module)) {
  for (auto size : module.getOps<SizeOp>())
    if (size.getLongest())
      longest[*size.getLongest()].push_back(size.getSymNameAttr());
}

Bounds::Range Bounds::rangeOf(Value value, unsigned depth) const {
  Range any{kLowest, kHighest};
  auto upTo = [](int64_t high) { return Range{0, high}; };
  if (std::optional<int64_t> constant = constantOf(value))
    return {*constant, *constant};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto limit =
        function ? function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kLimitAttrName) : IntegerAttr();
    return limit && limit.getInt() > 0 ? upTo(limit.getInt() - 1) : any;
  }
  if (depth == 0)
    return any;
  auto of = [&](Value operand) { return rangeOf(operand, depth - 1); };
  auto within = [&](int64_t low, int64_t high) { // a sum that may overflow is unknown
    return low < kLowest || high > kHighest ? any : Range{low, high};
  };
  auto both = [](Range a, Range b) { return Range{std::min(a.low, b.low), std::max(a.high, b.high)}; };
  return llvm::TypeSwitch<Operation *, Range>(value.getDefiningOp())
      .Case([&](arith::AddIOp op) {
        Range a = of(op.getLhs()), b = of(op.getRhs());
        return within(a.low + b.low, a.high + b.high);
      })
      .Case([&](arith::SubIOp op) {
        Range a = of(op.getLhs()), b = of(op.getRhs());
        return within(a.low - b.high, a.high - b.low);
      })
      .Case([&](arith::MulIOp op) {
        Range a = of(op.getLhs()), b = of(op.getRhs());
        auto products = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
        return within(std::min(products), std::max(products));
      })
      .Case([&](arith::MinSIOp op) {
        Range a = of(op.getLhs()), b = of(op.getRhs());
        return Range{std::min(a.low, b.low), std::min(a.high, b.high)};
      })
      .Case([&](arith::MaxSIOp op) {
        Range a = of(op.getLhs()), b = of(op.getRhs());
        return Range{std::max(a.low, b.low), std::max(a.high, b.high)};
      })
      .Case([&](arith::RemUIOp op) {
        std::optional<int64_t> divisor = constantOf(op.getRhs());
        return divisor && *divisor > 0 ? upTo(*divisor - 1) : any;
      })
      .Case([&](arith::AndIOp op) {
        for (Value operand : op.getOperands())
          if (std::optional<int64_t> bits = constantOf(operand); bits && *bits >= 0)
            return upTo(*bits);
        return any;
      })
      .Case([&](arith::SelectOp op) { return both(of(op.getTrueValue()), of(op.getFalseValue())); })
      .Case([&](arith::ExtUIOp op) { return upTo(1); })
      .Case([&](BroadcastOp op) { return of(op.getInput()); })
      .Case([&](SliceOp op) { return of(op.getInput()); })
      .Case([&](EmbeddingOp op) { return of(op.getTable()); })
      .Case([&](ScatterRowsOp op) { return both(of(op.getDestination()), of(op.getRows())); })
      .Case(
          [&](IotaOp op) { return upTo(maximumOf(Extent::of(op.getResult(), static_cast<int64_t>(op.getDim()))) - 1); })
      .Case([&](ArgmaxOp op) { return upTo(typeOf(op.getInput()).getDimSize(1) - 1); })
      .Case([&](TopKOp op) { return upTo(maximumOf(Extent::of(op.getInput(), value == op.getRows() ? 0 : 1)) - 1); })
      .Case([&](DispatchOp op) {
        return upTo(value == op.getExperts() ? typeOf(op.getCounts()).getDimSize(1) - 1
                                             : maximumOf(Extent::of(op.getOrder(), 0)));
      })
      .Case([&](LocateOp op) {
        return upTo(value == op.getPosition() ? maximumOf(Extent::ofSize(op.getRowSizeAttr())) - 1
                                              : maximumOf(Extent::of(op.getStarts(), 0)) - 1);
      })
      .Case([&](FindFirstOp op) { return Range{-1, maximumOf(Extent::of(op.getIndices(), 0)) - 1}; })
      .Case([&](ReadOp op) {
        int64_t limit = variableLimits.lookup(op.getVariableAttr().getAttr());
        return limit ? upTo(limit - 1) : any;
      })
      .Default(any);
}

Bounds::Range Bounds::rangeOf(const Form::Term &term) const {
  return term.value ? rangeOf(term.value, kDepth) : Range{0, maxima.lookup(term.size)};
}

Bounds::Substitutes Bounds::substitutesFor(const Form::Term &term, bool above) const {
  auto below = [&](const Extent &extent) { // the bound extent - 1
    return above ? Substitutes{{Form::ofExtent(extent).plus(Form::ofConstant(-1))}} : Substitutes{};
  };
  auto unknown = [](Value matrix) { return Form{{{matrix, StringAttr(), 0, 1}}, 0}; };
  auto formOf = [&](Value value) { return typeOf(value).getRank() == 1 ? Form::ofValue(value) : unknown(value); };
  if (!term.value)
    return {};
  if (StringAttr input = inputName(term.value)) {
    Substitutes found;
    if (above)
      for (StringAttr size : longest.lookup(input))
        found.forms.push_back(Form::ofExtent({size}));
    return found;
  }
  Operation *op = term.value.getDefiningOp();
  if (!op || term.from != 0)
    return {};
  return llvm::TypeSwitch<Operation *, Substitutes>(op)
      .Case([&](arith::MinSIOp op) {
        return above ? Substitutes{{formOf(op.getLhs()), formOf(op.getRhs())}} : Substitutes{};
      })
      .Case([&](arith::MaxSIOp op) {
        return above ? Substitutes{} : Substitutes{{formOf(op.getLhs()), formOf(op.getRhs())}};
      })
      .Case([&](arith::SelectOp op) {
        return Substitutes{{formOf(op.getTrueValue()), formOf(op.getFalseValue())}, /*isChoice=*/true};
      })
      .Case([&](ScatterRowsOp op) {
        return Substitutes{{formOf(op.getDestination()), formOf(op.getRows())}, /*isChoice=*/true};
      })
      .Case<BroadcastOp, SliceOp>([&](auto op) { return Substitutes{{formOf(op.getInput())}}; })
      .Case([&](EmbeddingOp op) { return Substitutes{{unknown(op.getTable())}}; })
      .Case([&](IotaOp op) { return below(Extent::of(op.getResult(), static_cast<int64_t>(op.getDim()))); })
      .Case([&](TopKOp op) { return below(Extent::of(op.getInput(), term.value == op.getRows() ? 0 : 1)); })
      .Case([&](FindFirstOp op) { return below(Extent::of(op.getIndices(), 0)); })
      .Case([&](LocateOp op) {
        return below(term.value == op.getPosition() ? Extent::ofSize(op.getRowSizeAttr())
                                                    : Extent::of(op.getStarts(), 0));
      })
      .Default(Substitutes{});
}

bool Bounds::isNonNegative(const Form &form, unsigned depth) const {
  int64_t lowest = form.constant;
  bool overflows = false;
  for (const Form::Term &term : form.terms) {
    Range range = rangeOf(term);
    int64_t part = 0;
    overflows |= llvm::MulOverflow(term.coefficient, term.coefficient > 0 ? range.low : range.high, part) ||
                 llvm::AddOverflow(lowest, part, lowest);
  }
  if (!overflows && lowest >= 0)
    return true;
  constexpr size_t kMostTerms = 16; // proofs of longer sums take too long
  if (depth == 0 || form.terms.size() > kMostTerms)
    return false;
  for (size_t i = 0; i < form.terms.size(); ++i) {
    const Form::Term &term = form.terms[i];
    Substitutes substitutes = substitutesFor(term, /*above=*/term.coefficient < 0);
    if (substitutes.forms.empty())
      continue;
    Form others = form;
    others.terms.erase(others.terms.begin() + i);
    auto holds = [&](const Form &substitute) {
      return isNonNegative(others.plus(substitute, term.coefficient), depth - 1);
    };
    if (substitutes.isChoice ? llvm::all_of(substitutes.forms, holds) : llvm::any_of(substitutes.forms, holds))
      return true;
  }
  return false;
}
