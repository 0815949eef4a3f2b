// The objects behind the driver's handles.
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

// An operation of a stream or of a graph node.
struct Operation {
  enum Kind { Empty, Kernel, HostToDevice, DeviceToHost, DeviceToDevice, Fill, HostFunction } kind = Empty;
  // Kernel
  emulator::Kernel *kernel = nullptr;
  uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {1, 1, 1};
  uint32_t dynamicBytes = 0;
  std::vector<uint8_t> params;
  bool dependent = false;             // may begin before the kernel before it has ended
  std::vector<DeclaredAccess> before; // if so: what that kernel may access
  std::vector<DeclaredAccess> access; // all memory that the kernel may access; empty if not declared
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
  std::map<Node *, size_t> index; // by node of the graph it was made from
  std::vector<Operation> operations;
  std::vector<bool> enabled; // by operation; disabled ones do nothing
  std::vector<size_t> order;
};

struct Stream {
  Graph *capture = nullptr; // the graph that captures its work; null if work runs at once
  std::vector<Node *> captureAfter;
  bool captureOrigin = false;
  bool captureBroken = false;
  std::vector<DeclaredAccess> lastAccess; // of its last operation, if that was a kernel
  // A host function, and the work behind it, run when somebody waits for them.
  std::deque<Operation> queued;
  uint64_t begun = 0;                  // number of queued operations that have begun
  uint64_t lastWork = 0;               // number of its last operation, counted over the context
  std::map<Stream *, uint64_t> waited; // the work of other streams that it waits for
};

struct Event {
  bool timed = true;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  Graph *capture = nullptr; // recorded in a stream that captures
  std::vector<Node *> captureAfter;
  Stream *stream = nullptr; // the stream whose queued work precedes it, or null
  uint64_t after = 0;       // how much of the stream's queue precedes it
  Stream *recordedIn = nullptr;
  uint64_t lastWork = 0; // that stream's lastWork at the time of recording
};

// The primary context of the only device.
struct Context {
  unsigned retained = 0;
  int sticky = kSuccess; // a kernel's fault, which ends all further work
  uint64_t work = 0;     // number of operations so far
  Stream defaultStream;
  std::set<Stream *> streams;
  std::set<Event *> events;
  std::set<LoadedModule *> modules;
  std::set<Kernel *> kernels;
  std::set<Graph *> graphs;
  std::set<GraphExec *> execs;
  std::map<uint64_t, uint64_t> allocations;
  std::map<void *, size_t> hostAllocations;

  void clear(); // reports on stderr what was not freed
};

struct Driver {
  std::recursive_mutex mutex;
  bool initialised = false;
  Context context;
  unsigned target = 90;
  std::vector<DeclaredAccess> declared; // for the next launch or node

  static Driver &get();
  uint32_t sharedOptin() const { return target >= 90 ? 232448 : 166912; }
};

extern thread_local Context *currentContext;

// Every call that needs a context begins with a Call: it takes the driver's lock, and has the error if the call cannot
// go on.
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

// Checks a launch's arguments and copies its parameters. The kernel may require clusters of blocks.
int makeLaunch(Context &context, void *function, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamicBytes,
               void **parameters, void **extra, Operation &operation);
// Takes clusters of this size, in blocks, for a launch. A size that the kernel requires must be the same.
int setCluster(Operation &operation, const uint32_t cluster[3]);
// Checks the device addresses of a copy or a fill.
int checkOperation(const Operation &operation);
// Runs the operation now. A kernel's fault becomes the context's error, which later calls return.
void execute(Context &context, const Operation &operation);
// Runs the operation now, or adds it to the graph that the stream captures.
int submit(Context &context, Stream &stream, Operation operation);
// Runs the operation now, or queues it if the stream has queued work.
void runIn(Context &context, Stream &stream, Operation operation);
// Runs the queued work that a stream, an event or everything waits for.
void drain(Context &context, Stream &stream);
void drain(Context &context, const Event &event);
void drainAll(Context &context);

} // namespace heddle::emulator
