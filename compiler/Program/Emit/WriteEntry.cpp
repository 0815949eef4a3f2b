// Writes entries: their ports, conditions, launches with their costs, and collectives.
#include "compiler/Program/Emit/ArtifactWriter.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Locations/Locations.h"
#include "runtime/schema/Constants.h"

using namespace mlir;
using namespace mlir::heddle;

static schema::Space toSchema(plan::Space space) {
  switch (space) {
  case plan::Space::Variable:
    return schema::Space::Variable;
  case plan::Space::Arena:
    return schema::Space::Arena;
  case plan::Space::Size:
    return schema::Space::Size;
  }
  llvm_unreachable("unknown space");
}

template <typename PortOp>
LogicalResult ArtifactWriter::writePorts(plan::EntryOp entry, std::vector<Offset<schema::Port>> &ports) {
  for (auto port : entry.getOps<PortOp>()) {
    auto type = writePortType(port, cast<RankedTensorType>(port.getType()));
    if (failed(type))
      return failure();
    auto name = writeString(port.getName());
    ports.push_back(schema::CreatePort(builder, name, *type, port.getOffset(), port.getBytes(),
                                       static_cast<int64_t>(port.getLimit()),
                                       port.getRole() ? writeString(*port.getRole()) : 0));
  }
  return success();
}

FailureOr<schema::Dim> ArtifactWriter::writeExtent(Operation *op, plan::ExtentAttr extent) {
  if (extent.getSize().empty())
    return schema::Dim(-1, extent.getExtent());
  FailureOr<uint32_t> size = find(op, sizeIndices, "size", extent.getSize());
  if (failed(size))
    return failure();
  return schema::Dim(static_cast<int32_t>(*size), 0);
}

FailureOr<uint32_t> ArtifactWriter::inputIndex(plan::SegmentsOp op, StringRef name) {
  uint32_t index = 0;
  for (auto input : op->getParentOfType<plan::EntryOp>().getOps<plan::InputOp>())
    if (input.getName() == name)
      return index;
    else
      ++index;
  return op->emitError() << "there is no input '" << name << "'";
}

FailureOr<Offset<schema::Sum>> ArtifactWriter::writeSum(plan::SegmentsOp op, plan::SumAttr sum) {
  std::vector<schema::Addend> addends;
  for (plan::AddendAttr addend : sum.getAddends()) {
    FailureOr<uint32_t> input = inputIndex(op, addend.getInput());
    if (failed(input))
      return failure();
    addends.emplace_back(*input, static_cast<int32_t>(addend.getCoefficient()), addend.getFrom());
  }
  auto vector = addends.empty() ? 0 : builder.CreateVectorOfStructs(addends);
  return schema::CreateSum(builder, vector, sum.getConstant());
}

FailureOr<Offset<schema::Segments>> ArtifactWriter::writeSegments(plan::SegmentsOp op) {
  plan::SegmentsAttr condition = op.getCondition();
  auto places = writeExtent(op, condition.getPlaces()), rows = writeExtent(op, condition.getRows());
  auto first = writeSum(op, condition.getFirst()), count = writeSum(op, condition.getCount());
  if (failed(places) || failed(rows) || failed(first) || failed(count))
    return failure();
  if (condition.getList().empty())
    return schema::CreateSegments(builder, &*places, *first, *count, &*rows);
  auto list = inputIndex(op, condition.getList());
  auto listed = writeExtent(op, condition.getListed());
  if (failed(list) || failed(listed))
    return failure();
  return schema::CreateSegments(builder, &*places, *first, *count, &*rows, static_cast<int32_t>(*list), &*listed);
}

FailureOr<std::vector<schema::Binding>> ArtifactWriter::writeBindings(Operation *op, ArrayAttr list) {
  std::vector<schema::Binding> bindings;
  for (auto binding : list.getAsRange<plan::BindingAttr>()) {
    uint32_t index = 0;
    if (binding.getSpace() != plan::Space::Arena) {
      bool isSize = binding.getSpace() == plan::Space::Size;
      FailureOr<uint32_t> found =
          find(op, isSize ? sizeIndices : variableIndices, isSize ? "size" : "variable", binding.getName());
      if (failed(found))
        return failure();
      index = *found;
    }
    bindings.emplace_back(toSchema(binding.getSpace()), index, binding.getOffset(), binding.getBytes());
  }
  return bindings;
}

FailureOr<Offset<schema::Collective>> ArtifactWriter::writeCollective(plan::CollectiveOp collective, size_t before) {
  hasCollectives = true;
  if (collective.getFrom().size() > schema::kMaxCollectiveTensors)
    return collective.emitError() << "a collective of " << collective.getFrom().size() << " tensors; "
                                  << schema::kMaxCollectiveTensors << " are the most";
  auto from = writeBindings(collective, collective.getFrom()), to = writeBindings(collective, collective.getTo());
  if (failed(from) || failed(to))
    return failure();
  std::string place = describeLocation(collective.getLoc());
  constexpr size_t mostOfPlaces = 1 << 10; // a bucket has many locations
  if (place.size() > mostOfPlaces)
    place = place.substr(0, place.rfind(';', mostOfPlaces)) + "; ...";
  auto location = place.empty() ? Offset<flatbuffers::String>() : builder.CreateSharedString(place);
  Offset<flatbuffers::Vector<uint32_t>> likeVector;
  if (auto like = collective.getLike()) {
    std::vector<uint32_t> indices;
    for (auto name : like->getAsRange<FlatSymbolRefAttr>()) {
      FailureOr<uint32_t> found = find(collective, variableIndices, "variable", name.getValue());
      if (failed(found))
        return failure();
      indices.push_back(*found);
    }
    likeVector = builder.CreateVector(indices);
  }
  return schema::CreateCollective(builder, static_cast<schema::CollectiveKind>(collective.getWhat()), before,
                                  builder.CreateVectorOfStructs(*from), builder.CreateVectorOfStructs(*to), location,
                                  likeVector);
}

/// Writes the bytes per row of each binding. Bindings of a single number have no rows.
FailureOr<Offset<schema::Shard>> ArtifactWriter::writeShard(plan::LaunchOp launch) {
  plan::ShardAttr shard = launch.getShardAttr();
  if (!shard)
    return Offset<schema::Shard>();
  auto variable = launch->getParentOfType<ModuleOp>().lookupSymbol<VariableOp>(shard.getVariable());
  FailureOr<uint32_t> index = find(launch, variableIndices, "variable", shard.getVariable());
  if (failed(index) || !variable)
    return failure();
  int64_t rows = variable.getTensorType().getDimSize(0);
  std::vector<uint64_t> rowBytes;
  for (auto binding : launch.getBindings().getAsRange<plan::BindingAttr>())
    rowBytes.push_back(binding.getSpace() == plan::Space::Size || binding.getBytes() <= 4 ? 0
                                                                                          : binding.getBytes() / rows);
  return schema::CreateShard(builder, *index, shard.getAxis(), shard.getTile(), builder.CreateVector(rowBytes));
}

FailureOr<Offset<schema::Launch>> ArtifactWriter::writeLaunch(plan::LaunchOp launch, const KernelTable &kernels) {
  std::vector<schema::Grid> grid;
  for (auto axis : launch.getGrid().getAsRange<tile::GridAttr>()) {
    int32_t size = -1;
    if (!axis.getSize().empty()) {
      FailureOr<uint32_t> found = find(launch, sizeIndices, "size", axis.getSize());
      if (failed(found))
        return failure();
      size = *found;
    }
    grid.emplace_back(size, axis.getTile(), axis.getRepeat());
  }
  if (launch.getBindings().size() > schema::kMaxBindings)
    return launch.emitError() << "kernel '" << launch.getKernel() << "' takes " << launch.getBindings().size()
                              << " arguments; " << schema::kMaxBindings << " are the most";
  FailureOr<std::vector<schema::Binding>> bindings = writeBindings(launch, launch.getBindings());
  if (failed(bindings))
    return failure();
  FailureOr<int32_t> cost = writeCost(launch);
  FailureOr<Offset<schema::Shard>> shard = writeShard(launch);
  auto reads = writeTypes(launch, launch.getReads()), writes = writeTypes(launch, launch.getWrites());
  if (failed(cost) || failed(shard) || failed(reads) || failed(writes))
    return failure();
  std::string place = describeLocation(launch.getLoc());
  auto location = place.empty() ? Offset<flatbuffers::String>() : builder.CreateSharedString(place);
  Offset<flatbuffers::Vector<uint64_t>> strides;
  std::vector<uint64_t> steps;
  for (auto binding : launch.getBindings().getAsRange<plan::BindingAttr>())
    steps.push_back(static_cast<uint64_t>(binding.getStep()));
  if (llvm::any_of(steps, [](uint64_t step) { return step != 0; }))
    strides = builder.CreateVector(steps);
  auto gridVector = builder.CreateVectorOfStructs(grid);
  auto bindingVector = builder.CreateVectorOfStructs(*bindings);
  return schema::CreateLaunch(builder, kernels.indexOf(launch.getKernel()), gridVector, bindingVector,
                              launch.getBarrier(), *cost, location, *reads, *writes, launch.getInfinities(), strides,
                              *shard);
}

/// The cost's index in its table; -1 for a launch without cost.
FailureOr<int32_t> ArtifactWriter::writeCost(plan::LaunchOp launch) {
  auto cost = launch->getAttrOfType<CostAttr>(kCostAttrName);
  if (!cost)
    return -1;
  auto [known, isNew] = costIndices.try_emplace(cost, costs.size());
  if (!isNew)
    return known->second;
  auto flops = writeTerms(launch, cost.getFlops()), model = writeTerms(launch, cost.getModel()),
       bytes = writeTerms(launch, cost.getBytes());
  if (failed(flops) || failed(model) || failed(bytes))
    return failure();
  costs.push_back(schema::CreateCost(builder, *flops, *model, *bytes));
  return known->second;
}

FailureOr<Offset<flatbuffers::Vector<const schema::CostTerm *>>> ArtifactWriter::writeTerms(plan::LaunchOp launch,
                                                                                            ArrayRef<TermAttr> terms) {
  std::vector<schema::CostTerm> written;
  for (TermAttr term : terms) {
    int32_t indices[3] = {-1, -1, -1};
    if (term.getSizes().size() > std::size(indices))
      return launch.emitError() << "the cost of kernel '" << launch.getKernel() << "' multiplies "
                                << term.getSizes().size() << " sizes; " << std::size(indices) << " are the most";
    for (auto [name, index] : llvm::zip_first(term.getSizes(), indices)) {
      FailureOr<uint32_t> found = find(launch, sizeIndices, "size", name.getValue());
      if (failed(found))
        return failure();
      index = *found;
    }
    written.emplace_back(term.getCoefficient(), indices[0], indices[1], indices[2],
                         term.getPairs() ? writePairs(term.getPairs()) : -1);
  }
  if (written.empty()) // an empty vector of structs need not be aligned
    return Offset<flatbuffers::Vector<const schema::CostTerm *>>();
  return builder.CreateVectorOfStructs(written);
}

int32_t ArtifactWriter::writePairs(PairsAttr attribute) {
  auto [known, isNew] = pairIndices.try_emplace(attribute, pairs.size());
  if (isNew) {
    auto queries = attribute.getQueries().empty() ? 0 : writeString(attribute.getQueries());
    auto keys = writeString(attribute.getKeys());
    pairs.push_back(schema::CreatePairCount(builder, queries, keys, attribute.getBelow(), attribute.getAbove(),
                                            attribute.getMaximum()));
  }
  return known->second;
}

FailureOr<Offset<schema::Repeat>> ArtifactWriter::writeRepeat(plan::RepeatOp repeat, size_t first) {
  hasRepeats = true;
  auto launches = repeat.getOps<plan::LaunchOp>();
  auto trips = find(repeat, sizeIndices, "size", repeat.getTrips());
  auto rows = find(repeat, sizeIndices, "size", repeat.getRows());
  auto tokens = find(repeat, sizeIndices, "size", repeat.getTokens());
  if (failed(trips) || failed(rows) || failed(tokens))
    return failure();
  return schema::CreateRepeat(builder, first, std::distance(launches.begin(), launches.end()), *trips,
                              repeat.getSteps(), repeat.getReverse(), *rows, *tokens);
}

FailureOr<Offset<schema::Entry>> ArtifactWriter::writeEntry(plan::EntryOp entry, const KernelTable &kernels) {
  std::vector<Offset<schema::Port>> inputs, outputs;
  if (failed(writePorts<plan::InputOp>(entry, inputs)) || failed(writePorts<plan::OutputOp>(entry, outputs)))
    return failure();
  std::vector<Offset<schema::Launch>> launches;
  std::vector<Offset<schema::Repeat>> repeats;
  std::vector<Offset<schema::Collective>> collectives;
  WalkResult walked = entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto repeat = dyn_cast<plan::RepeatOp>(op)) {
      FailureOr<Offset<schema::Repeat>> written = writeRepeat(repeat, launches.size());
      if (failed(written))
        return WalkResult::interrupt();
      repeats.push_back(*written);
    } else if (auto collective = dyn_cast<plan::CollectiveOp>(op)) {
      FailureOr<Offset<schema::Collective>> written = writeCollective(collective, launches.size());
      if (failed(written))
        return WalkResult::interrupt();
      collectives.push_back(*written);
    } else if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
      FailureOr<Offset<schema::Launch>> written = writeLaunch(launch, kernels);
      if (failed(written))
        return WalkResult::interrupt();
      launches.push_back(*written);
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  std::vector<Offset<schema::Segments>> conditions;
  for (auto op : entry.getOps<plan::SegmentsOp>()) {
    FailureOr<Offset<schema::Segments>> written = writeSegments(op);
    if (failed(written))
      return failure();
    conditions.push_back(*written);
  }
  std::vector<uint64_t> blocks;
  if (auto bytes = entry.getBlocks())
    blocks.assign(bytes->begin(), bytes->end());
  if (blocks.size() > schema::kMaxBlocks)
    return entry.emitError() << "the arena of entry '" << entry.getSymName() << "' has " << blocks.size() << " blocks; "
                             << schema::kMaxBlocks << " are the most: raise --max-allocation";
  return schema::CreateEntryDirect(builder, entry.getSymName().str().c_str(), &inputs, &outputs, &launches,
                                   conditions.empty() ? nullptr : &conditions, repeats.empty() ? nullptr : &repeats,
                                   collectives.empty() ? nullptr : &collectives, blocks.empty() ? nullptr : &blocks);
}
