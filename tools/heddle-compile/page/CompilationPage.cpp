#include "tools/heddle-compile/page/CompilationPage.h"

#include "dialects/Heddle/Heddle.h"
#include "runtime/artifact/Artifact.h"
#include "tools/cli/Program.h"
#include "tools/heddle-compile/Report.h"
#include "tools/heddle-compile/page/ArenaRanges.h"
#include "tools/heddle-compile/page/PageParts.h" // generated from page.css, page.html and the scripts
#include "tools/heddle-run/report/HtmlPage.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::heddle;
using Json = nlohmann::ordered_json;

namespace {

/// The page's data about one target. Launches refer to kernels and places by number.
class TargetData {
public:
  TargetData(const TargetProfile &profile, ModuleOp module, PhaseTexts &phases)
      : profile(profile), module(module), phases(phases), maxima(getLargestCall(module)) {}

  Json build(const ::heddle::Artifact *artifact);

private:
  Json describeEntry(plan::EntryOp entry, const ::heddle::schema::Target *target, const ::heddle::schema::Entry *built);
  void addKernel(plan::LaunchOp launch, const ::heddle::schema::Target *target, uint32_t number);

  const TargetProfile &profile;
  ModuleOp module;
  PhaseTexts &phases;
  SizeMaxima maxima;
  llvm::MapVector<StringRef, Json> kernels; // in the order of their first launch
};

} // namespace

/// Returns "source_tokens/24 x 8 x 1": one workgroup per 24 tokens, and so on.
static std::string describeGrid(plan::LaunchOp launch) {
  std::string text;
  for (auto grid : launch.getGrid().getAsRange<tile::GridAttr>()) {
    text += text.empty() ? "" : " \u00d7 ";
    if (grid.getSize().empty()) {
      text += std::to_string(grid.getRepeat());
      continue;
    }
    text += grid.getSize();
    if (grid.getTile() != 1)
      text += "/" + std::to_string(grid.getTile());
    if (grid.getRepeat() != 1)
      text += "\u00b7" + std::to_string(grid.getRepeat());
  }
  return text;
}

void TargetData::addKernel(plan::LaunchOp launch, const ::heddle::schema::Target *target, uint32_t number) {
  PhaseTexts::Kernel known = phases.findKernel(profile.name, launch.getKernel(), launch.getLoc());
  Json ops = Json::array(), texts = Json::array();
  for (StringRef op : known.ops)
    ops.push_back(op.str());
  for (auto [phase, text] : known.texts)
    texts.push_back({getPhase(phase).name.str(), text});
  Json kernel = {{"name", launch.getKernel().str()},
                 {"ops", std::move(ops)},
                 {"tile", std::vector<int64_t>(known.tile.begin(), known.tile.end())},
                 {"grid", describeGrid(launch)},
                 {"texts", std::move(texts)}};
  if (target) {
    const ::heddle::schema::Kernel &code = *target->kernels()->Get(number);
    kernel["lanes"] = code.lanes();
    kernel["shared"] = code.shared_bytes();
    kernel["registers"] = code.registers();
    kernel["spills"] = code.spill_bytes();
  }
  kernels.insert({launch.getKernel(), std::move(kernel)});
}

Json TargetData::describeEntry(plan::EntryOp entry, const ::heddle::schema::Target *target,
                               const ::heddle::schema::Entry *built) {
  EntryTotals totals(entry, maxima);
  Json launches = Json::array();
  uint32_t number = 0; // of the launch, without collectives
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<plan::CollectiveOp>(op))
      launches.push_back({-1, phases.getPlaces().add(op->getLoc()), 0, 0, 1, 1});
    auto launch = dyn_cast<plan::LaunchOp>(op);
    if (!launch)
      return;
    if (!kernels.contains(launch.getKernel()))
      addKernel(launch, target, built ? built->launches()->Get(number)->kernel() : 0);
    ++number;
    auto cost = runsIn(launch, maxima) ? launch->getAttrOfType<CostAttr>(kCostAttrName) : CostAttr();
    launches.push_back({kernels.find(launch.getKernel()) - kernels.begin(), phases.getPlaces().add(launch.getLoc()),
                        cost ? evaluateAtMaximum(cost.getFlops(), maxima) : 0,
                        cost ? evaluateAtMaximum(cost.getBytes(), maxima) : 0, countSteps(launch),
                        launch.getBarrier() ? 1 : 0});
  });
  ArenaRanges arena = ArenaRanges::of(entry);
  Json ranges = Json::array();
  for (const ArenaRange &range : arena.getRanges())
    ranges.push_back(
        {range.place.offset, range.place.bytes, range.first, range.last, range.isMade ? 1 : 0, range.port});
  ArenaRanges::Peak peak = arena.findPeak();
  SmallVector<int64_t> blocks = entry.getBlockBytes();
  return {{"name", entry.getSymName().str()},
          {"launches", totals.launches},
          {"kernels", totals.kernels},
          {"barriers", totals.barriers},
          {"flops", totals.flops},
          {"bytes", totals.bytes},
          {"memory", totals.memory},
          {"arena", static_cast<int64_t>(entry.getArenaBytes())},
          {"blocks", std::vector<int64_t>(blocks.begin(), blocks.end())},
          {"peak", {peak.step, peak.bytes}},
          {"steps", std::move(launches)},
          {"ranges", std::move(ranges)}};
}

Json TargetData::build(const ::heddle::Artifact *artifact) {
  const ::heddle::schema::Target *target = nullptr;
  if (artifact)
    for (const ::heddle::schema::Target *other : *artifact->module().targets())
      if (::heddle::view(other->name()) == std::string_view(profile.name))
        target = other;
  Json entries = Json::array();
  uint32_t number = 0;
  for (auto entry : module.getOps<plan::EntryOp>())
    entries.push_back(describeEntry(entry, target,
                                    target ? ::heddle::entriesOf(artifact->module(), *target).Get(number++) : nullptr));
  Json all = Json::array();
  for (auto &[name, kernel] : kernels)
    all.push_back(std::move(kernel));
  DeviceMemory memory = DeviceMemory::of(module);
  return {{"name", profile.name.str()},
          {"summary", profile.summary.str()},
          {"memory",
           {{"weights", memory.weights},
            {"optimizer state", memory.state},
            {"caches", memory.caches},
            {"activations", memory.kept},
            {"workspace", memory.workspace}}},
          {"limits",
           {{"lanes of a subgroup", profile.lanes},
            {"bindings of a kernel", profile.limits.bindings},
            {"workgroups along an axis", profile.limits.workgroups},
            {"loop iterations of an invocation", profile.limits.loopTrips}}},
          {"entries", std::move(entries)},
          {"kernels", std::move(all)}};
}

/// Returns the options that affect the result, as on the command line.
static Json describeOptions(const CommandLine &line) {
  std::string targets, off;
  for (const TargetProfile *target : line.targets)
    targets += (targets.empty() ? "" : ", ") + target->name.str();
  for (const FusionFlag &flag : getFusionFlags())
    if (!line.pipeline.fusion.has(flag))
      off += (off.empty() ? "" : ", ") + flag.name.str();
  std::string given;
  for (const std::string &flag : line.given)
    given += (given.empty() ? "" : " ") + flag;
  return {{"target", targets},
          {"precision", toString(line.pipeline.precision).str()},
          {"caches", toString(line.pipeline.caches).str()},
          {"moments", toString(line.pipeline.moments).str()},
          {"recompute", toString(line.pipeline.recompute).str()},
          {"fusion off", off.empty() ? "none" : off},
          {"command line", given}};
}

static Json describeWeights(ModuleOp module) {
  Json weights = Json::array();
  for (auto variable : module.getOps<VariableOp>())
    if (llvm::is_contained({VariableKind::Weight, VariableKind::Frozen}, variable.getKind())) {
      RankedTensorType type = variable.getTensorType();
      std::string text;
      llvm::raw_string_ostream(text) << type;
      weights.push_back({variable.getSymName().str(), text, type.getNumElements() * type.getElementTypeBitWidth() / 8,
                         variable.getStorageAttr() ? variable.getStorageAttr().getValue().str() : ""});
    }
  return weights;
}

static Json describeRemarks(ArrayRef<PassRemark> remarks, PlaceTable &places) {
  Json all = Json::array();
  for (const PassRemark &remark : remarks)
    all.push_back(
        {remark.isMissed ? 1 : 0, remark.pass, remark.entry, places.add(remark.place), remark.what, remark.detail});
  return all;
}

std::string mlir::heddle::writeCompilationPage(const CommandLine &line, CompiledModel &compiled, PhaseTexts &phases,
                                               ArrayRef<PassRemark> remarks) {
  // How kernels were assembled is only in the artifact. It was verified when it was made.
  const std::string &bytes = compiled.artifact.bytes;
  auto *begin = reinterpret_cast<const std::byte *>(bytes.data());
  auto artifact = ::heddle::Artifact::fromBytes({begin, begin + bytes.size()}, line.output);
  Json targets = Json::array(), sizes = Json::array(), table = Json::array(), texts = Json::array();
  for (auto [profile, module] : llvm::zip(line.targets, compiled.modules))
    targets.push_back(TargetData(*profile, *module, phases).build(artifact.ok() ? artifact->get() : nullptr));
  ModuleOp module = *compiled.modules.front();
  for (auto size : module.getOps<SizeOp>())
    if (!size.getFixed() && !size.getOfAttr())
      sizes.push_back({size.getSymName().str(), size.getMaximum()});
  for (const PhaseInfo &phase : getPhases())
    if (phase.phase != Phase::Emit)
      table.push_back({phase.name.str(), phase.description.str()});
  Json data = {{"model", line.model},
               {"version", ::heddle::cli::versionText("heddle-compile")},
               {"artifact",
                {{"file", line.output},
                 {"bytes", bytes.size()},
                 {"kernels", compiled.artifact.kernels},
                 {"code", compiled.artifact.codeBytes}}},
               {"options", describeOptions(line)},
               {"sizes", std::move(sizes)},
               {"weights", describeWeights(module)},
               {"phases", std::move(table)},
               {"snapshots", phases.getPhases()},
               {"targets", std::move(targets)},
               {"remarks", describeRemarks(remarks, phases.getPlaces())}};
  data["places"] = phases.getPlaces().toJson(); // now that all are known
  data["files"] = phases.getPlaces().filesToJson(line.model);
  std::string all = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  ::heddle::run::HtmlPage page{
      line.model + ": compilation", kPageStyle, kPageBody, kPageScript, {{"data", packText(all)}}};
  page.data["texts"] = phases.getTexts().get();
  return page.html();
}
