#include "tools/heddle-compile/page/PhaseTexts.h"

#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"

using namespace mlir;
using namespace mlir::heddle;
using Json = nlohmann::ordered_json;

/// Constants with more elements are elided.
static constexpr int64_t kMostElements = 16;

static OpPrintingFlags printingFlags() {
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(kMostElements).elideLargeResourceString(kMostElements);
  return flags;
}

/// Replaces invalid UTF-8 in attributes: it must not break the page.
static std::string dump(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Prints the op with values numbered from it on, whatever surrounds it.
static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState state(op, printingFlags());
  op->print(stream, state);
  return text;
}

size_t PhaseTexts::addWithPlaces(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState::LocationMap lines;
  AsmState state(op, printingFlags(), &lines);
  op->print(stream, state);
  std::vector<int64_t> placeOfLine(llvm::count(text, '\n') + 1, -1);
  op->walk([&](Operation *inner) {
    auto line = lines.find(inner);
    if (line == lines.end() || line->second.first > placeOfLine.size())
      return;
    int64_t &place = placeOfLine[line->second.first - 1]; // lines count from 1
    if (place < 0)
      place = places.add(inner->getLoc());
  });
  return texts.add(dump({{"text", text}, {"places", placeOfLine}}));
}

void PhaseTexts::addCutKernels(Operation *function) {
  AsmState state(function, printingFlags());
  function->walk([&](KernelOp kernel) {
    auto [known, isNew] = cut.try_emplace(kernel.getLoc());
    if (!isNew)
      return;
    kernel.getBody().walk([&](Operation *op) {
      if (!isa<YieldOp>(op) && op->getBlock() == &kernel.getBody().front())
        known->second.ops.push_back(op->getName().stripDialect());
    });
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel->print(stream, state);
    known->second.texts.push_back({Phase::Fuse, texts.add(text)});
  });
}

void PhaseTexts::addKernel(Phase phase, StringRef target, Operation *op, StringRef name) {
  Kernel &kernel = compiled[{target.str(), name.str()}];
  kernel.texts.push_back({phase, texts.add(print(op))});
  if (phase != Phase::Tile)
    return;
  std::pair<bool, int64_t> most(false, 0);
  op->walk([&](Operation *inner) {
    auto dot = dyn_cast<tile::DotOp>(inner);
    auto store = dyn_cast<tile::StoreOp>(inner);
    if (!dot && !store)
      return;
    auto type = cast<RankedTensorType>(dot ? dot.getResult().getType() : store.getValue().getType());
    if (std::pair size(bool(dot), type.getNumElements()); size > most) {
      most = size;
      kernel.tile = llvm::to_vector(type.getShape());
    }
  });
}

void PhaseTexts::add(Phase phase, StringRef target, ModuleOp module) {
  std::string declarations;
  Json functions = Json::array();
  for (Operation &op : *module.getBody()) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (name && isa<func::FuncOp, plan::EntryOp>(op)) {
      functions.push_back({name.str(), addWithPlaces(&op)});
      if (phase == Phase::Fuse)
        addCutKernels(&op);
    } else if (name && op.getNumRegions() > 0) {
      if (phase < Phase::Plan) // phases from `plan` on do not change kernels
        addKernel(phase, target, &op, name);
    } else {
      declarations += print(&op) + "\n";
    }
  }
  phases.push_back({{"phase", getPhase(phase).name.str()},
                    {"target", target.str()},
                    {"declarations", texts.add(dump({{"text", declarations}, {"places", Json::array()}}))},
                    {"functions", std::move(functions)}});
}

PhaseTexts::Kernel PhaseTexts::findKernel(StringRef target, StringRef name, Location place) const {
  Kernel kernel;
  if (auto found = cut.find(place); found != cut.end())
    kernel = found->second;
  if (auto found = compiled.find({target.str(), name.str()}); found != compiled.end()) {
    llvm::append_range(kernel.texts, found->second.texts);
    kernel.tile = found->second.tile;
  }
  return kernel;
}
