// Graphs, and capturing streams into them.
#include "test/cuda/emulator/DriverState.h"

#include <algorithm>

using namespace heddle::emulator;

namespace {

bool owns(const Graph &graph, const Node *node) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto &one) { return one.get() == node; });
}

int makeKernelNode(Context &context, const KernelNodeParams *params, Operation &operation) {
  if (!params)
    return kErrorInvalidValue;
  const uint32_t grid[] = {params->gridX, params->gridY, params->gridZ};
  const uint32_t block[] = {params->blockX, params->blockY, params->blockZ};
  return makeLaunch(context, params->function ? params->function : params->kernel, grid, block, params->sharedBytes,
                    params->parameters, params->extra, operation);
}

// Computes an order in which every node follows its dependencies. Among the nodes that could be next, the one added
// last goes first, so that a missing dependency is likely to show in the results. Returns false if there is a cycle.
bool order(const Graph &graph, GraphExec &exec) {
  std::vector<bool> done(graph.nodes.size());
  while (exec.order.size() < graph.nodes.size()) {
    size_t next = graph.nodes.size();
    for (size_t i = graph.nodes.size(); i-- > 0 && next == graph.nodes.size();) {
      const auto &after = graph.nodes[i]->after;
      if (!done[i] && std::all_of(after.begin(), after.end(), [&](Node *node) { return done[exec.index.at(node)]; }))
        next = i;
    }
    if (next == graph.nodes.size())
      return false;
    done[next] = true;
    exec.order.push_back(next);
  }
  return true;
}

} // namespace

HEDDLE_CUDA_API cuGraphCreate(void **graph, unsigned flags) {
  Call call;
  if (call.error())
    return call.error();
  if (!graph || flags)
    return kErrorInvalidValue;
  auto *made = new Graph;
  call.context().graphs.insert(made);
  *graph = made;
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphDestroy(void *graph) {
  Call call;
  if (call.error())
    return call.error();
  if (!call.context().graphs.erase(static_cast<Graph *>(graph)))
    return kErrorInvalidValue;
  delete static_cast<Graph *>(graph);
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphAddKernelNode_v2(void **node, void *handle, void *const *dependencies, size_t count,
                                        const KernelNodeParams *params) {
  Call call;
  if (call.error())
    return call.error();
  auto *graph = static_cast<Graph *>(handle);
  if (!node || !call.context().graphs.count(graph) || (count && !dependencies))
    return kErrorInvalidValue;
  auto made = std::make_unique<Node>();
  for (size_t i = 0; i < count; ++i) {
    made->after.push_back(static_cast<Node *>(dependencies[i]));
    if (!owns(*graph, made->after.back()))
      return kErrorInvalidValue;
  }
  if (int error = makeKernelNode(call.context(), params, made->operation))
    return error;
  *node = made.get();
  graph->nodes.push_back(std::move(made));
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphAddDependencies(void *handle, void *const *from, void *const *to, size_t count) {
  Call call;
  if (call.error())
    return call.error();
  auto *graph = static_cast<Graph *>(handle);
  if (!call.context().graphs.count(graph) || (count && (!from || !to)))
    return kErrorInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    auto *first = static_cast<Node *>(from[i]), *second = static_cast<Node *>(to[i]);
    if (!owns(*graph, first) || !owns(*graph, second) || first == second ||
        std::count(second->after.begin(), second->after.end(), first))
      return kErrorInvalidValue;
    second->after.push_back(first);
  }
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphInstantiateWithFlags(void **exec, void *handle, unsigned long long flags) {
  Call call;
  if (call.error())
    return call.error();
  auto *graph = static_cast<Graph *>(handle);
  if (!exec || !call.context().graphs.count(graph))
    return kErrorInvalidValue;
  auto made = std::make_unique<GraphExec>();
  for (const auto &node : graph->nodes) {
    made->index[node.get()] = made->operations.size();
    made->operations.push_back(node->operation);
  }
  made->enabled.assign(made->operations.size(), true);
  if (!order(*graph, *made))
    return kErrorInvalidValue;
  call.context().execs.insert(made.get());
  *exec = made.release();
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphExecKernelNodeSetParams_v2(void *handle, void *node, const KernelNodeParams *params) {
  Call call;
  if (call.error())
    return call.error();
  auto *exec = static_cast<GraphExec *>(handle);
  if (!call.context().execs.count(exec))
    return kErrorInvalidValue;
  auto found = exec->index.find(static_cast<Node *>(node));
  if (found == exec->index.end() || exec->operations[found->second].kind != Operation::Kernel)
    return kErrorInvalidValue;
  Operation operation;
  if (int error = makeKernelNode(call.context(), params, operation))
    return error;
  operation.access = exec->operations[found->second].access;
  exec->operations[found->second] = std::move(operation);
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphKernelNodeSetParams_v2(void *handle, const KernelNodeParams *params) {
  Call call;
  if (call.error())
    return call.error();
  auto *node = static_cast<Node *>(handle);
  bool known = std::any_of(call.context().graphs.begin(), call.context().graphs.end(),
                           [&](const Graph *graph) { return owns(*graph, node); });
  if (!known || node->operation.kind != Operation::Kernel)
    return kErrorInvalidValue;
  Operation operation;
  if (int error = makeKernelNode(call.context(), params, operation))
    return error;
  operation.access = node->operation.access;
  node->operation = std::move(operation);
  return kSuccess;
}

// Updates from the graph that it was made from. The documentation does not say that disabled nodes stay disabled, so
// all are enabled afterwards.
HEDDLE_CUDA_API cuGraphExecUpdate_v2(void *handle, void *graphHandle, GraphUpdateResult *info) {
  Call call;
  if (call.error())
    return call.error();
  auto *exec = static_cast<GraphExec *>(handle);
  auto *graph = static_cast<Graph *>(graphHandle);
  if (!info || !call.context().execs.count(exec) || !call.context().graphs.count(graph))
    return kErrorInvalidValue;
  *info = {};
  bool same = graph->nodes.size() == exec->operations.size() &&
              std::all_of(graph->nodes.begin(), graph->nodes.end(),
                          [&](const auto &node) { return exec->index.count(node.get()) != 0; });
  if (!same) {
    info->result = 2; // the topology changed
    return kErrorGraphExecUpdateFailure;
  }
  for (const auto &node : graph->nodes)
    exec->operations[exec->index.at(node.get())] = node->operation;
  exec->enabled.assign(exec->operations.size(), true);
  return kSuccess;
}

// Not part of NVIDIA's API: declares the memory that the next launch or node may access.
HEDDLE_CUDA_API heddleDeclareAccess(const DeclaredAccess *ranges, size_t count) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  driver.declared.assign(ranges, ranges + count);
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphNodeSetEnabled(void *handle, void *node, unsigned enabled) {
  Call call;
  if (call.error())
    return call.error();
  auto *exec = static_cast<GraphExec *>(handle);
  if (!call.context().execs.count(exec))
    return kErrorInvalidValue;
  auto found = exec->index.find(static_cast<Node *>(node));
  if (found == exec->index.end() || exec->operations[found->second].kind == Operation::Empty)
    return kErrorInvalidValue;
  exec->enabled[found->second] = enabled != 0;
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphLaunch(void *handle, void *streamHandle) {
  Call call;
  if (call.error())
    return call.error();
  auto *exec = static_cast<GraphExec *>(handle);
  if (!call.context().execs.count(exec))
    return kErrorInvalidValue;
  Stream *stream = findStream(call.context(), streamHandle);
  if (!stream)
    return kErrorInvalidHandle;
  // Capturing a graph launch would need a child graph, which the emulator does not support.
  if (stream->capture)
    return kErrorNotSupported;
  for (size_t i : exec->order) {
    // A kernel may have been unloaded with its module.
    const Operation &operation = exec->operations[i];
    if (operation.kind == Operation::Kernel && !call.context().kernels.count(operation.kernel))
      return kErrorInvalidHandle;
  }
  for (size_t i : exec->order)
    if (exec->enabled[i])
      runIn(call.context(), *stream, exec->operations[i]);
  return kSuccess;
}

HEDDLE_CUDA_API cuGraphExecDestroy(void *exec) {
  Call call;
  if (call.error())
    return call.error();
  if (!call.context().execs.erase(static_cast<GraphExec *>(exec)))
    return kErrorInvalidValue;
  delete static_cast<GraphExec *>(exec);
  return kSuccess;
}

HEDDLE_CUDA_API cuStreamBeginCapture_v2(void *handle, int mode) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  if (!stream)
    return kErrorInvalidHandle;
  if (mode < 0 || mode > 2)
    return kErrorInvalidValue;
  // The default stream cannot be captured.
  if (stream == &call.context().defaultStream)
    return kErrorStreamCaptureUnsupported;
  if (stream->capture)
    return kErrorIllegalState;
  stream->capture = new Graph;
  stream->captureOrigin = true;
  return kSuccess;
}

HEDDLE_CUDA_API cuStreamEndCapture(void *handle, void **result) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  if (!stream)
    return kErrorInvalidHandle;
  if (!result)
    return kErrorInvalidValue;
  *result = nullptr;
  if (!stream->capture)
    return kErrorIllegalState;
  if (!stream->captureOrigin)
    return kErrorStreamCaptureUnmatched;
  Graph *graph = stream->capture;
  int error = stream->captureBroken ? kErrorStreamCaptureInvalidated : kSuccess;
  // Other streams' captured work must have been waited for: only the last nodes of the origin stream may be ends.
  std::set<Node *> ends;
  for (const auto &node : graph->nodes)
    ends.insert(node.get());
  for (const auto &node : graph->nodes)
    for (Node *before : node->after)
      ends.erase(before);
  for (Node *node : stream->captureAfter)
    ends.erase(node);
  if (!error && !ends.empty())
    error = kErrorStreamCaptureUnjoined;
  for (Event *event : call.context().events)
    if (event->capture == graph)
      *event = Event{.timed = event->timed};
  for (Stream *other : call.context().streams)
    if (other->capture == graph)
      *other = {};
  if (error) {
    delete graph;
    return error;
  }
  call.context().graphs.insert(graph);
  *result = graph;
  return kSuccess;
}
