#include "runtime/hal/cuda/CudaDevice.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

namespace heddle::hal::cuda {
namespace {

bool isEmpty(WorkgroupCount count) { return count.x == 0 || count.y == 0 || count.z == 0; }

// Returns true if CUDA_LAUNCH_BLOCKING asks to wait after every launch. The driver does not apply it to graphs.
bool launchesBlock() {
  const char *value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value && *value && std::strcmp(value, "0") != 0;
}

} // namespace

CudaProgram::~CudaProgram() {
  Current now(context);
  (void)stream.wait(); // the device may still be running it
  for (CUevent event : events)
    context.cuda->cuEventDestroy_v2(event);
  if (exec)
    context.cuda->cuGraphExecDestroy(exec);
  if (graph)
    context.cuda->cuGraphDestroy(graph);
}

Status CudaProgram::record(std::span<const Launch> launches, uint32_t counts, bool timed) {
  blocking = launchesBlock();
  nodesOfCount.resize(counts);
  current.assign(counts, {1, 1, 1});
  for (const Launch &launch : launches) {
    assert(launch.count < counts);
    nodesOfCount[launch.count].push_back(static_cast<uint32_t>(nodes.size()));
    nodes.push_back({static_cast<const CudaKernel *>(launch.kernel), launch.count, launch.barrier, addresses.size()});
    for (const Argument &argument : launch.arguments) {
      addresses.push_back(argument.buffer->address() + argument.offset);
      accesses.push_back({addresses.back(), argument.bytes, uint64_t(argument.read) + 2 * uint64_t(argument.written)});
    }
  }
  for (uint64_t &address : addresses)
    arguments.push_back(&address);
  arguments.push_back(nullptr); // lets a last launch without arguments point into the vector too
  describe();
  if (timed) {
    events.resize(nodes.size() + 1);
    for (CUevent &event : events)
      if (CUresult status = context.cuda->cuEventCreate(&event, CU_EVENT_DEFAULT))
        return context.error(status, "creating an event");
  }
  return timed || blocking || nodes.empty() ? Status(Success()) : buildGraph(launches);
}

// Sets the name of this program for errors that do not tell which of its launches failed.
void CudaProgram::describe() {
  if (nodes.empty())
    return;
  bool same = std::all_of(nodes.begin(), nodes.end(), [&](auto &node) { return node.kernel == nodes[0].kernel; });
  description = std::make_shared<const std::string>(same ? str("kernel '", nodes[0].kernel->name, "'")
                                                         : str("one of ", nodes.size(), " launches, from kernel '",
                                                               nodes.front().kernel->name, "' to kernel '",
                                                               nodes.back().kernel->name, "',"));
}

KernelNodeParams CudaProgram::parameters(const Node &node, WorkgroupCount count) {
  return {node.kernel->function,          count.x, count.y, count.z, node.kernel->lanes, 1, 1, node.kernel->sharedBytes,
          &arguments[node.firstArgument], nullptr};
}

void CudaProgram::declareAccess(const Node &node) const {
  if (!context.cuda->heddleDeclareAccess)
    return;
  size_t last = static_cast<size_t>(&node - nodes.data()) + 1;
  size_t end = last == nodes.size() ? accesses.size() : nodes[last].firstArgument;
  context.cuda->heddleDeclareAccess(accesses.data() + node.firstArgument, end - node.firstArgument);
}

// If all launches list their dependencies, nodes depend on exactly these. Otherwise the launches between two barriers
// depend on all launches of the previous group.
Status CudaProgram::buildGraph(std::span<const Launch> launches) {
  const Driver &cuda = *context.cuda;
  if (CUresult status = cuda.cuGraphCreate(&graph, 0))
    return context.error(status, "creating a graph");
  bool known = std::ranges::all_of(launches, [](const Launch &launch) { return launch.after.has_value(); });
  std::vector<CUgraphNode> before, group; // nodes that this launch waits for; nodes since the last barrier
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (known) {
      before.clear();
      for (uint32_t earlier : *launches[i].after)
        before.push_back(nodes[earlier].handle);
    } else if (nodes[i].barrier) {
      before = std::move(group);
      group.clear();
    }
    KernelNodeParams launch = parameters(nodes[i], {1, 1, 1});
    declareAccess(nodes[i]);
    if (CUresult status = cuda.cuGraphAddKernelNode_v2(&nodes[i].handle, graph, before.data(), before.size(), &launch))
      return context.error(status, str("recording kernel '", nodes[i].kernel->name, "'"));
    group.push_back(nodes[i].handle);
  }
  if (CUresult status = cuda.cuGraphInstantiateWithFlags(&exec, graph, 0))
    return context.error(status, str("making ", *description, " ready to run"));
  return Success();
}

Status CudaProgram::updateGraph(std::span<const WorkgroupCount> counts) {
  const Driver &cuda = *context.cuda;
  auto differs = [&](size_t i) {
    return current[i].x != counts[i].x || current[i].y != counts[i].y || current[i].z != counts[i].z;
  };
  bool update = false;
  for (size_t i = 0; i < counts.size(); ++i)
    for (uint32_t index : nodesOfCount[i])
      if (differs(i) && !isEmpty(counts[i])) {
        KernelNodeParams launch = parameters(nodes[index], counts[i]);
        if (CUresult status = cuda.cuGraphKernelNodeSetParams_v2(nodes[index].handle, &launch))
          return context.error(status, str("setting the workgroups of kernel '", nodes[index].kernel->name, "'"));
        update = true;
      }
  if (update) {
    GraphUpdateResult result;
    if (CUresult status = cuda.cuGraphExecUpdate_v2(exec, graph, &result))
      return context.error(status, str("setting the workgroups of ", *description));
  }
  // The graph does not record which nodes are disabled, so an update may enable all of them.
  for (size_t i = 0; i < counts.size(); ++i) {
    bool isOff = isEmpty(counts[i]);
    if (isOff ? update || !isEmpty(current[i]) : isEmpty(current[i]))
      for (uint32_t index : nodesOfCount[i])
        if (CUresult status = cuda.cuGraphNodeSetEnabled(exec, nodes[index].handle, !isOff))
          return context.error(status, str("switching kernel '", nodes[index].kernel->name, isOff ? "' off" : "' on"));
    current[i] = counts[i];
  }
  return Success();
}

Status CudaProgram::launchEach(std::span<const WorkgroupCount> counts) {
  const Driver &cuda = *context.cuda;
  auto stamp = [&](size_t index) {
    return events.empty() ? CUDA_SUCCESS : cuda.cuEventRecord(events[index], stream.handle());
  };
  if (CUresult status = stamp(0))
    return context.error(status, "timing launches");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const CudaKernel &kernel = *nodes[i].kernel;
    WorkgroupCount count = counts[nodes[i].count];
    CUresult status = CUDA_SUCCESS;
    if (!isEmpty(count)) {
      declareAccess(nodes[i]);
      status = cuda.cuLaunchKernel(kernel.function, count.x, count.y, count.z, kernel.lanes, 1, 1, kernel.sharedBytes,
                                   stream.handle(), &arguments[nodes[i].firstArgument], nullptr);
    }
    if (blocking && status == CUDA_SUCCESS)
      status = cuda.cuStreamSynchronize(stream.handle());
    if (blocking && status != CUDA_SUCCESS)
      context.running = nullptr; // the failing kernel is named in the error below
    if (status != CUDA_SUCCESS)
      return context.error(status, str("kernel '", kernel.name, "'"));
    if ((status = stamp(i + 1)))
      return context.error(status, "timing launches");
  }
  return Success();
}

Status CudaProgram::start(std::span<const WorkgroupCount> counts) {
  if (!exec)
    return launchEach(counts);
  HEDDLE_CHECK(updateGraph(counts));
  if (CUresult status = context.cuda->cuGraphLaunch(exec, stream.handle()))
    return context.error(status, str("starting ", *description));
  return Success();
}

Status CudaProgram::submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) {
  assert(counts.size() == current.size());
  Current thread(context);
  uint64_t bytes = 0;
  for (const Upload &upload : uploads) {
    assert(upload.offset <= upload.to->bytes() && upload.data.size() <= upload.to->bytes() - upload.offset);
    bytes += stagingBytes(upload.data.size());
  }
  HEDDLE_ASSIGN(Stream::Slot * slot, stream.begin(bytes));
  Status status = Success();
  for (const Upload &upload : uploads)
    if (status.ok())
      status = stream.upload(*slot, upload.to->address() + upload.offset, upload.data);
  if (status.ok()) {
    context.running = description;
    status = start(counts);
  }
  Status finished = stream.finish(*slot);
  return status.ok() ? std::move(finished) : std::move(status);
}

Result<std::vector<LaunchTime>> CudaProgram::launchTimes() {
  Current thread(context);
  HEDDLE_CHECK(stream.wait());
  if (events.empty())
    return makeError(ErrorKind::Unsupported, "this program was not recorded with times.");
  std::vector<LaunchTime> times(nodes.size());
  uint64_t now = 0; // times count from the begin of the program
  for (size_t i = 0; i < times.size(); ++i) {
    float milliseconds = 0;
    if (CUresult status = context.cuda->cuEventElapsedTime(&milliseconds, events[i], events[i + 1]))
      return context.error(status, "reading the launch times");
    times[i].begin = now;
    times[i].end = now += static_cast<uint64_t>(milliseconds * 1e6);
  }
  return times;
}

} // namespace heddle::hal::cuda
