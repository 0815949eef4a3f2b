#include "runtime/session/EntryRunner.h"

#include "runtime/core/Span.h"
#include "runtime/schema/Constants.h"
#include "runtime/session/LaunchOrder.h"
#include "runtime/session/NumberCheck.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

namespace heddle {

static bool isEmpty(hal::WorkgroupCount count) { return count.x == 0 || count.y == 0 || count.z == 0; }

EntryRunner::EntryRunner(DeviceState &state, const schema::Entry &entry, bool separateValues)
    : entry(entry), state(state), memory(state, entry, separateValues), runs(launchRuns(entry)),
      collectives(state, entry, memory, runs) {
  overwritten.resize(entry.inputs()->size());
  auto noteWritten = [&](const std::vector<BindingRange> &written) {
    for (flatbuffers::uoffset_t i = 0; i < overwritten.size(); ++i)
      overwritten[i] = overwritten[i] || overlap({BindingRange(*entry.inputs()->Get(i))}, written);
  };
  for (const schema::Launch *launch : *entry.launches())
    noteWritten(LaunchAccess(*launch).written);
  for (uint32_t i = 0; i < collectives.count(); ++i)
    for (const schema::Binding *to : *entry.collectives()->Get(i)->to())
      noteWritten({BindingRange(*to)});
  std::map<std::array<uint32_t, 11>, uint32_t> known;
  for (const LaunchRun &run : runs) {
    const schema::Launch *launch = entry.launches()->Get(run.launch);
    std::array<uint32_t, 11> key{};
    if (run.repeat) { // launches of steps past the call's last one get no workgroups
      key[9] = run.repeat->trips() + 1;
      key[10] = run.step;
    }
    for (flatbuffers::uoffset_t axis = 0; axis < 3; ++axis) {
      const schema::Grid &grid = *launch->grid()->Get(axis);
      key[3 * axis] = static_cast<uint32_t>(grid.size());
      key[3 * axis + 1] = grid.tile();
      key[3 * axis + 2] = static_cast<uint32_t>(groupsHere(*launch, axis, grid.repeat()));
    }
    auto [found, added] = known.try_emplace(key, static_cast<uint32_t>(countRun.size()));
    if (added)
      countRun.push_back(run);
    countOfRun.push_back(found->second);
  }
}

uint64_t EntryRunner::groupsHere(const schema::Launch &launch, flatbuffers::uoffset_t axis, uint64_t groups) const {
  if (const schema::Shard *shard = launch.shard(); shard && shard->axis() == axis)
    return (state.shards.ownRows(shard->variable()).count + shard->tile() - 1) / shard->tile();
  bool isPersistent = axis == 0 && state.target.kernels()->Get(launch.kernel())->persistent();
  uint32_t processors = state.device.info().processors;
  return isPersistent && processors > 0 && launch.grid()->Get(axis)->size() < 0 ? std::min<uint64_t>(groups, processors)
                                                                                : groups;
}

// Restricts a sharded launch to this rank's rows.
Status EntryRunner::shard(const schema::Launch &launch, std::span<hal::Argument> arguments) const {
  for (flatbuffers::uoffset_t b = 0; b < launch.bindings()->size(); ++b) {
    const schema::Binding &binding = *launch.bindings()->Get(b);
    bool isState = binding.space() == schema::Space::Variable && state.shards.has(binding.index());
    if (isState && !launch.shard())
      return makeError(ErrorKind::Unsupported, "entry '", view(entry.name()), "' is for one rank: its kernel '",
                       view(state.target.kernels()->Get(launch.kernel())->name()), "'", placeOf(launch),
                       " needs all rows of variable '", view(state.module.variables()->Get(binding.index())->name()),
                       "', of which each rank keeps a part.");
    uint64_t rowBytes = launch.shard() ? launch.shard()->row_bytes()->Get(b) : 0;
    if (rowBytes == 0)
      continue;
    Shards::Range own = state.shards.ownRange(launch.shard()->variable(), binding.bytes());
    arguments[b].offset += isState ? 0 : own.offset; // the buffer of a sharded variable has only these rows
    arguments[b].bytes = own.bytes;
  }
  return Success();
}

std::vector<uint32_t> EntryRunner::kernels() const {
  std::vector<uint32_t> indices;
  for (const schema::Launch *launch : *entry.launches())
    indices.push_back(launch->kernel());
  return indices;
}

Status EntryRunner::record() {
  HEDDLE_CHECK(memory.allocate());
  collectives.forgetPlaces();
  HEDDLE_ASSIGN(programs, recordParts(/*timed=*/false));
  return Success();
}

Result<EntryRunner::Programs> EntryRunner::recordParts(bool timed) {
  Programs parts;
  for (const EntryCollectives::Part &part : collectives.parts()) {
    HEDDLE_ASSIGN(parts.emplace_back(), record(part.first, part.end - part.first, timed));
  }
  return parts;
}

Status EntryRunner::launchOverNothing(uint32_t launch) {
  size_t run = 0;
  while (runs[run].launch != launch)
    ++run;
  HEDDLE_ASSIGN(std::unique_ptr<hal::Program> alone, record(run, 1, /*timed=*/false));
  HEDDLE_CHECK(alone->submit({}, std::vector<hal::WorkgroupCount>(countRun.size())));
  return state.device.wait();
}

Result<std::unique_ptr<hal::Program>> EntryRunner::record(size_t firstRun, size_t count, bool timed) {
  HEDDLE_ASSIGN(hal::Buffer * sizesBuffer, state.sizes());
  std::vector<std::array<hal::Argument, schema::kMaxBindings>> arguments(count);
  std::vector<std::vector<uint32_t>> order; // stays empty for single launches and timed recordings, which need no order
  if (!timed && count > 1)
    order = launchOrder(state.module, entry);
  std::vector<hal::Launch> launches;
  for (size_t i = 0; i < count; ++i) {
    const LaunchRun &run = runs[firstRun + i];
    const schema::Launch &launch = *entry.launches()->Get(run.launch);
    for (flatbuffers::uoffset_t b = 0; b < launch.bindings()->size(); ++b) {
      const schema::Binding &binding = *launch.bindings()->Get(b);
      bool read = LaunchAccess::isRead(launch, b), written = LaunchAccess::isWritten(launch, b);
      switch (binding.space()) {
      case schema::Space::Variable: {
        HEDDLE_ASSIGN(hal::Buffer * buffer, state.variable(binding.index()));
        arguments[i][b] = {buffer, binding.offset() + run.shift(launch, b), binding.bytes(), read, written};
        break;
      }
      case schema::Space::Arena: {
        EntryMemory::Place place = memory.at(binding.offset(), binding.bytes());
        arguments[i][b] = {place.buffer, place.offset + run.shift(launch, b), binding.bytes(), read, written};
        break;
      }
      case schema::Space::Size:
        arguments[i][b] = {sizesBuffer, binding.index() * sizeof(int32_t), sizeof(int32_t), read, written};
        break;
      }
    }
    if (state.shards.ranks() > 1)
      HEDDLE_CHECK(shard(launch, arguments[i]));
    launches.push_back({state.kernel(launch.kernel()), std::span(arguments[i]).first(launch.bindings()->size()),
                        countOfRun[firstRun + i], launch.barrier()});
    if (order.empty())
      continue;
    std::vector<uint32_t> &after = order[firstRun + i];
    std::erase_if(after, [&](uint32_t earlier) { return earlier < firstRun; }); // parts run one after the other
    for (uint32_t &earlier : after)
      earlier -= static_cast<uint32_t>(firstRun);
    launches.back().after = after;
  }
  return state.device.record(launches, static_cast<uint32_t>(countRun.size()), timed);
}

Status EntryRunner::computeCounts(std::span<const int32_t> sizes) {
  counts.clear();
  for (const LaunchRun &run : countRun) {
    const schema::Launch *launch = entry.launches()->Get(run.launch);
    if (run.repeat && run.step >= stepsOf(*run.repeat, sizes)) {
      counts.push_back({0, 0, 0});
      continue;
    }
    std::array<uint32_t, 3> count{};
    for (flatbuffers::uoffset_t axis = 0; axis < 3; ++axis) {
      uint64_t groups = groupsHere(*launch, axis, workgroups(*launch->grid()->Get(axis), sizes));
      uint32_t limit = state.device.info().maxWorkgroups[axis];
      if (groups > limit)
        return makeError(ErrorKind::Unsupported, "entry '", view(entry.name()), "': kernel '",
                         view(state.target.kernels()->Get(launch->kernel())->name()), "'", placeOf(*launch), " needs ",
                         groups, " workgroups along axis ", axis, " for this call, and '", state.device.info().name,
                         "' runs ", limit, " at most. Use smaller batches.");
      count[axis] = static_cast<uint32_t>(groups);
    }
    counts.push_back({count[0], count[1], count[2]});
  }
  return Success();
}

Status EntryRunner::send(std::span<const Input> inputs, Send send) {
  HEDDLE_ASSIGN(CallBinding binding, bind(inputs));
  HEDDLE_ASSIGN(std::vector<hal::Upload> uploads, uploadsOf(binding, send));
  return write(uploads);
}

Status EntryRunner::write(std::span<const hal::Upload> uploads) {
  for (const hal::Upload &upload : uploads)
    HEDDLE_CHECK(state.device.write(*upload.to, upload.offset, upload.data));
  return Success();
}

Status EntryRunner::run(std::span<const Input> inputs, Send send) { return submit(programs, inputs, send); }

Result<CallBinding> EntryRunner::bind(std::span<const Input> inputs) {
  HEDDLE_ASSIGN(CallBinding binding, bindCall(state.module, entry, inputs));
  HEDDLE_CHECK(computeCounts(binding.sizes));
  return binding;
}

Result<std::vector<hal::Upload>> EntryRunner::uploadsOf(const CallBinding &binding, Send send) {
  HEDDLE_ASSIGN(hal::Buffer * sizesBuffer, state.sizes());
  std::vector<hal::Upload> uploads;
  for (size_t i = 0; i < binding.inputs.size(); ++i) {
    if (send == Send::Nothing || (send == Send::Overwritten && !overwritten[i]))
      continue;
    const schema::Port &port = *entry.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    EntryMemory::Place place = memory.at(port.arena_offset(), port.bytes());
    uploads.push_back({place.buffer, place.offset, binding.inputs[i]->tensor.bytes});
  }
  if (!binding.sizes.empty())
    uploads.push_back({sizesBuffer, 0, std::as_bytes(std::span(binding.sizes))});
  return uploads;
}

Status EntryRunner::submit(const Programs &recordings, std::span<const Input> inputs, Send send) {
  HEDDLE_ASSIGN(CallBinding binding, bind(inputs));
  HEDDLE_ASSIGN(std::vector<hal::Upload> uploads, uploadsOf(binding, send));
  uint32_t started = 0, finished = 0;
  for (size_t i = 0; i < recordings.size(); ++i) {
    const EntryCollectives::Part &part = collectives.parts()[i];
    for (; finished < part.finish; ++finished)
      HEDDLE_CHECK(collectives.finish(finished, uploads));
    HEDDLE_CHECK(recordings[i]->submit(uploads, counts));
    uploads.clear();
    for (; started < part.start; ++started)
      HEDDLE_CHECK(collectives.start(started));
  }
  sizes = std::move(binding.sizes);
  return Success();
}

Status EntryRunner::runChecked(std::span<const Input> inputs) {
  for (const schema::Launch *launch : *entry.launches())
    if (launch->shard() && state.shards.ranks() > 1)
      return makeError(ErrorKind::Unsupported,
                       "numbers are not checked where ranks keep a part each of the optimizer's state; compile the "
                       "model with --shard=none for that.");
  HEDDLE_ASSIGN(CallBinding binding, bind(inputs));
  NumberCheck check(state, memory, entry, binding);
  HEDDLE_CHECK(check.begin());
  HEDDLE_ASSIGN(std::vector<hal::Upload> uploads, uploadsOf(binding, Send::All));
  HEDDLE_CHECK(write(uploads));
  uint32_t done = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    HEDDLE_CHECK(doTogether(collectives.countBefore(runs[i]), done));
    if (i > 0 && runs[i].repeat && runs[i].step >= stepsOf(*runs[i].repeat, binding.sizes))
      continue; // past the longest sequence
    if (isEmpty(counts[countOfRun[i]]))
      continue; // the call uses another variant of the launch, or has no rows
    HEDDLE_CHECK(check.before(runs[i]));
    HEDDLE_ASSIGN(std::unique_ptr<hal::Program> one, record(i, 1, /*timed=*/false));
    HEDDLE_CHECK(one->submit({}, counts));
    HEDDLE_CHECK(state.device.wait());
    HEDDLE_CHECK(check.after(runs[i]));
  }
  HEDDLE_CHECK(doTogether(collectives.count(), done));
  sizes = std::move(binding.sizes);
  return Success();
}

Status EntryRunner::doTogether(uint32_t until, uint32_t &done) {
  for (; done < until; ++done) {
    std::vector<hal::Upload> uploads;
    HEDDLE_CHECK(collectives.start(done));
    HEDDLE_CHECK(collectives.finish(done, uploads));
    HEDDLE_CHECK(write(uploads));
  }
  return Success();
}

Result<HostTensor> EntryRunner::output(const schema::Port &port) const {
  Span span("read output");
  span.with("output", view(port.name()));
  HEDDLE_ASSIGN(HostTensor tensor,
                HostTensor::uninitialized(elementType(*port.type()), boundShape(*port.type(), sizes)));
  EntryMemory::Place place = memory.at(port.arena_offset(), port.bytes());
  HEDDLE_CHECK(state.device.read(*place.buffer, place.offset, tensor.bytes()));
  return tensor;
}

Result<PendingTensor> EntryRunner::outputLater(const schema::Port &port) const {
  Shape shape = boundShape(*port.type(), sizes);
  EntryMemory::Place place = memory.at(port.arena_offset(), port.bytes());
  return readLater(state.device, *place.buffer, place.offset, elementType(*port.type()), std::move(shape));
}

Result<std::vector<LaunchProfile>> EntryRunner::profile(std::span<const Input> inputs, Send send) {
  if (timedPrograms.empty()) {
    HEDDLE_ASSIGN(timedPrograms, recordParts(/*timed=*/true));
  }
  HEDDLE_CHECK(submit(timedPrograms, inputs, send));
  HEDDLE_CHECK(state.device.wait());
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::vector<hal::LaunchTime> times;
  for (size_t i = 0; i < timedPrograms.size(); ++i) {
    if (collectives.parts()[i].first == collectives.parts()[i].end)
      continue; // there is nothing to time
    HEDDLE_ASSIGN(std::vector<hal::LaunchTime> ofPart, timedPrograms[i]->launchTimes());
    times.insert(times.end(), ofPart.begin(), ofPart.end());
  }
  uint64_t shift = 0; // from the device's clock to the host's, modulo 2^64: either may be ahead
  if (!times.empty())
    shift = static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) - times.back().end;
  // Merges the steps of a repeated launch, as if they ran back to back.
  std::vector<LaunchProfile> profile(entry.launches()->size());
  for (size_t i = 0; i < times.size(); ++i) {
    LaunchProfile &of = profile[runs[i].launch];
    const schema::Launch &launch = *entry.launches()->Get(runs[i].launch);
    bool isFirst = of.end == 0;
    if (isFirst)
      of = {view(state.target.kernels()->Get(launch.kernel())->name()), times[i].begin + shift, times[i].end + shift,
            counts[countOfRun[i]], view(launch.location())};
    else
      of.end += times[i].end - times[i].begin;
  }
  return profile;
}

} // namespace heddle
