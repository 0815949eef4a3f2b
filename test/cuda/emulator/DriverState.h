// What stands behind the driver's handles.
#pragma once

#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/LoadedModule.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#define HEDDLE_CUDA_API extern "C" __attribute__((visibility("default"))) int

namespace heddle::emulator {

// What a stream or the node of a graph does.
struct Operation {
  enum Kind { Empty, Kernel, HostToDevice, DeviceToHost, DeviceToDevice, Fill, HostFunction } kind = Empty;
  // Kernel
  emulator::Kernel *kernel = nullptr;
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t dynamicBytes = 0;
  std::vector<uint8_t> params;
  std::vector<DeclaredAccess> access; // all that the kernel may touch; empty where the program did not say
  // Copies and fills
  uint64_t to = 0, from = 0, bytes = 0;
  uint32_t value = 0, valueBytes = 0;
  // HostFunction
  void (*function)(void *) = nullptr;
  void *data = nullptr;
};

struct Node {
  Operation operation;
  std::vector<Node *> after;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

struct GraphExec {
  std::map<Node *, size_t> index; // by the node of the graph that it was made from
  std::vector<Operation> operations;
  std::vector<bool> enabled; // by operation: those that are not do nothing
  std::vector<size_t> order;
};

struct Stream {
  Graph *capture = nullptr; // where its work goes; null when it is done at once
  std::vector<Node *> captureAfter;
  bool captureOrigin = false;
  bool captureBroken = false;
  // A function of the host, and what comes behind it, is done when somebody waits for it.
  std::deque<Operation> queued;
  uint64_t begun = 0;                  // of all that was queued, how much is no longer there
  uint64_t lastWork = 0;               // the number, among all work of the context, of what it was given last
  std::map<Stream *, uint64_t> waited; // for which work of other streams it waits
};

struct Event {
  bool timed = true;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  Graph *capture = nullptr; // recorded in a stream that captures
  std::vector<Node *> captureAfter;
  Stream *stream = nullptr; // where it was recorded behind what is queued; else null
  uint64_t after = 0;       // how much of the stream's queue comes before it
  Stream *recordedIn = nullptr;
  uint64_t lastWork = 0; // of that stream when it was recorded
};

// The primary context of the one device.
struct Context {
  unsigned retained = 0;
  int sticky = kSuccess; // a fault of a kernel ends all further work
  uint64_t work = 0;     // how much there was
  Stream defaultStream;
  std::set<Stream *> streams;
  std::set<Event *> events;
  std::set<LoadedModule *> modules;
  std::set<Kernel *> kernels;
  std::set<Graph *> graphs;
  std::set<GraphExec *> execs;
  std::map<uint64_t, uint64_t> allocations;
  std::map<void *, size_t> hostAllocations;

  void clear(); // says on stderr what was not freed
};

struct Driver {
  std::recursive_mutex mutex;
  bool initialised = false;
  Context context;
  unsigned target = 90;
  std::vector<DeclaredAccess> declared; // of the next launch or node

  static Driver &get();
  uint32_t sharedOptin() const { return target >= 90 ? 232448 : 166912; }
};

extern thread_local Context *currentContext;

// What every call that works in a context begins with: takes the driver's lock, and says why it cannot go on.
class Call {
public:
  Call();
  int error() const { return result; }
  Context &context() { return Driver::get().context; }

private:
  std::lock_guard<std::recursive_mutex> lock;
  int result;
};

Stream *findStream(Context &context, void *handle);

// Checks what a launch asks for and copies its parameters.
int makeLaunch(Context &context, void *function, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamicBytes,
               void **parameters, void **extra, Operation &operation);
// Checks the device addresses of a copy or a fill.
int checkOperation(const Operation &operation);
// Does it now. A kernel's fault becomes the context's error and is returned by the calls that follow.
void execute(Context &context, const Operation &operation);
// Does it now, or adds it to the graph that the stream captures.
int submit(Context &context, Stream &stream, Operation operation);
// Does it now, or queues it behind what is queued.
void runIn(Context &context, Stream &stream, const Operation &operation);
// Does what a stream, an event or everything waits for.
void drain(Context &context, Stream &stream);
void drain(Context &context, const Event &event);
void drainAll(Context &context);

} // namespace heddle::emulator
