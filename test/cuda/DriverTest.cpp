// The driver API: accepts and refuses the same calls as the real driver, with the same error codes.
#include "test/cuda/EmulatorTest.h"

#include <cstdlib>

namespace heddle::test {
namespace {

using namespace emulator;

class DriverTest : public EmulatorTest {
protected:
  Api &cuda = Api::get();
  void *const noStream = nullptr;

  // Computes a[i] = a[i] * factor + i, for i < n.
  void *scale() {
    return kernel(header() + R"(
.visible .entry k(.param .u64 a, .param .u32 factor, .param .u32 n)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .reg .pred %p<2>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r1, %r2, %r3, %r1;
  ld.param.u32 %r2, [n];
  setp.ge.u32 %p1, %r1, %r2;
  @%p1 exit;
  ld.param.u64 %rd1, [a];
  mad.wide.u32 %rd1, %r1, 4, %rd1;
  ld.global.u32 %r4, [%rd1];
  ld.param.u32 %r5, [factor];
  mad.lo.u32 %r4, %r4, %r5, %r1;
  st.global.u32 [%rd1], %r4;
  ret;
}
)");
  }
  int attribute(int which) {
    int value = -1;
    EXPECT_CUDA("cuDeviceGetAttribute", &value, which, 0);
    return value;
  }
  KernelNodeParams node(void *function, void **parameters, unsigned threads) {
    return {function, 1, 1, 1, threads, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
  }
};

TEST_F(DriverTest, Device) {
  int count = 0, device = -1, version = 0;
  EXPECT_CUDA("cuDeviceGetCount", &count);
  EXPECT_EQ(count, 1);
  EXPECT_CUDA("cuDeviceGet", &device, 0);
  EXPECT_EQ(cuda("cuDeviceGet", &device, 1), kErrorInvalidDevice);
  EXPECT_CUDA("cuDriverGetVersion", &version);
  EXPECT_EQ(version, 13000);
  char name[64];
  EXPECT_CUDA("cuDeviceGetName", name, 64, 0);
  EXPECT_STREQ(name, "Heddle emulator");
  EXPECT_EQ(attribute(kComputeCapabilityMajor), 9);
  EXPECT_EQ(attribute(kMaxSharedPerBlockOptin), 227 << 10);
  EXPECT_EQ(attribute(kWarpSize), 32);
  const char *text = nullptr;
  EXPECT_CUDA("cuGetErrorName", 700, &text);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuda("cuGetErrorName", 12345, &text), kErrorInvalidValue);
  void *function = nullptr;
  int status = -1;
  EXPECT_CUDA("cuGetProcAddress_v2", "cuMemAlloc", &function, 13000, 0ull, &status);
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cuda("cuGetProcAddress_v2", "cuNoSuchThing", &function, 13000, 0ull, &status), kErrorNotFound);
}

TEST_F(DriverTest, OlderDevice) {
  EXPECT_CUDA("cuDevicePrimaryCtxRelease_v2", 0);
  setenv("HEDDLE_EMULATOR_SM", "80", 1);
  SetUp();
  unsetenv("HEDDLE_EMULATOR_SM");
  EXPECT_EQ(attribute(kComputeCapabilityMajor), 8);
  EXPECT_EQ(attribute(kMaxSharedPerBlockOptin), 163 << 10);
  std::string log;
  EXPECT_EQ(loadError(header(90) + ".visible .entry k() { ret; }", log), kErrorNoBinaryForGpu);
  EXPECT_NE(log.find("sm_90"), std::string::npos);
}

TEST_F(DriverTest, ContextsAreCurrentPerThread) {
  unsigned long long address = 0;
  void *context = nullptr, *none = nullptr;
  EXPECT_CUDA("cuCtxGetCurrent", &context);
  EXPECT_NE(context, nullptr);
  EXPECT_CUDA("cuCtxSetCurrent", none);
  EXPECT_EQ(cuda("cuMemAlloc_v2", &address, size_t(4)), kErrorInvalidContext);
  EXPECT_EQ(cuda("cuCtxSetCurrent", static_cast<void *>(this)), kErrorInvalidContext);
  EXPECT_CUDA("cuCtxSetCurrent", context);
}

TEST_F(DriverTest, LeaksAreTold) {
  unsigned long long address = 0;
  EXPECT_CUDA("cuMemAlloc_v2", &address, size_t(100));
  ::testing::internal::CaptureStderr();
  EXPECT_CUDA("cuDevicePrimaryCtxRelease_v2", 0);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "heddle emulator: 1 allocations (100 bytes) are leaked as the context is released; the first has 100 bytes\n");
  EXPECT_EQ(cuda("cuMemAlloc_v2", &address, size_t(100)), kErrorContextIsDestroyed);
  EXPECT_EQ(cuda("cuDevicePrimaryCtxRelease_v2", 0), kErrorInvalidContext);
  SetUp();
}

TEST_F(DriverTest, Memory) {
  unsigned long long address = 0;
  EXPECT_EQ(cuda("cuMemAlloc_v2", &address, size_t(0)), kErrorInvalidValue);
  EXPECT_EQ(cuda("cuMemAlloc_v2", &address, size_t(1) << 50), kErrorOutOfMemory);
  EXPECT_EQ(cuda("cuMemFree_v2", uint64_t(12345)), kErrorInvalidValue);
  EXPECT_CUDA("cuMemFree_v2", uint64_t(0));
  size_t before = 0, after = 0, total = 0;
  EXPECT_CUDA("cuMemGetInfo_v2", &before, &total);
  uint64_t a = upload(std::vector<uint32_t>{1, 2, 3, 4});
  EXPECT_CUDA("cuMemGetInfo_v2", &after, &total);
  EXPECT_LT(after, before);
  EXPECT_EQ(a % 256, 0u);
  uint64_t b = allocate(16);
  EXPECT_CUDA("cuMemcpyDtoDAsync_v2", b, a + 4, size_t(12), noStream);
  EXPECT_CUDA("cuMemsetD32Async", b + 12, 9u, size_t(1), noStream);
  EXPECT_CUDA("cuMemsetD8Async", b, static_cast<unsigned char>(1), size_t(2), noStream);
  EXPECT_EQ(download<uint32_t>(b, 4), (std::vector<uint32_t>{0x101, 3, 4, 9}));
  EXPECT_EQ(cuda("cuMemsetD32Async", b + 2, 9u, size_t(1), noStream), kErrorInvalidValue);
  EXPECT_EQ(cuda("cuMemsetD32Async", b + 12, 9u, size_t(2), noStream), kErrorInvalidValue);
  uint32_t word = 0;
  EXPECT_EQ(cuda("cuMemcpyDtoH_v2", static_cast<void *>(&word), b + 13, size_t(4)), kErrorInvalidValue);
  void *host = nullptr;
  EXPECT_CUDA("cuMemHostAlloc", &host, size_t(64), 0u);
  EXPECT_CUDA("cuMemFreeHost", host);
  EXPECT_EQ(cuda("cuMemFreeHost", host), kErrorInvalidValue);
}

TEST_F(DriverTest, MemoryIsReusedInWhateverOrderItIsFreed) {
  size_t before = 0, after = 0, total = 0;
  EXPECT_CUDA("cuMemGetInfo_v2", &before, &total);
  unsigned long long whole = 0;
  EXPECT_CUDA("cuMemAlloc_v2", &whole, size_t(3) << 20);
  EXPECT_CUDA("cuMemFree_v2", uint64_t(whole));
  for (std::array<int, 3> order :
       {std::array{0, 1, 2}, std::array{2, 1, 0}, std::array{0, 2, 1}, std::array{1, 0, 2}}) {
    unsigned long long address[3] = {};
    for (auto &one : address)
      EXPECT_CUDA("cuMemAlloc_v2", &one, size_t(1) << 20);
    for (int i : order)
      EXPECT_CUDA("cuMemFree_v2", uint64_t(address[i]));
    EXPECT_CUDA("cuMemGetInfo_v2", &after, &total);
    EXPECT_EQ(after, before);
    unsigned long long again = 0;
    EXPECT_CUDA("cuMemAlloc_v2", &again, size_t(3) << 20);
    EXPECT_EQ(again, whole);
    EXPECT_CUDA("cuMemFree_v2", uint64_t(again));
  }
}

TEST_F(DriverTest, LaunchesAreChecked) {
  void *k = scale();
  uint64_t a = upload(std::vector<uint32_t>(2048, 1));
  EXPECT_EQ(launch(k, {2}, {1024}, 0, a, 3u, 2048u), kSuccess);
  auto have = download<uint32_t>(a, 2048);
  for (uint32_t i = 0; i < 2048; ++i)
    EXPECT_EQ(have[i], 3 + i);
  EXPECT_EQ(launch(k, {2}, {1025}, 0, a, 3u, 2048u), kErrorInvalidValue);
  EXPECT_EQ(launch(k, {2}, {64, 32}, 0, a, 3u, 2048u), kErrorInvalidValue);
  EXPECT_EQ(launch(k, {2}, {1, 1, 65}, 0, a, 3u, 2048u), kErrorInvalidValue);
  EXPECT_EQ(launch(k, {0}, {32}, 0, a, 3u, 2048u), kErrorInvalidValue);
  EXPECT_EQ(launch(k, {1, 65536}, {32}, 0, a, 3u, 2048u), kErrorInvalidValue);
  EXPECT_EQ(launch(static_cast<void *>(this), {1}, {32}, 0, a, 3u, 2048u), kErrorInvalidHandle);
  // Dynamic shared memory: 48 KiB by default, more on request.
  EXPECT_EQ(launch(k, {1}, {32}, 48 << 10, a, 1u, 32u), kSuccess);
  EXPECT_EQ(launch(k, {1}, {32}, (48 << 10) + 16, a, 1u, 32u), kErrorInvalidValue);
  EXPECT_EQ(cuda("cuFuncSetAttribute", k, int(kFunctionMaxDynamicSharedBytes), (227 << 10) + 1), kErrorInvalidValue);
  EXPECT_CUDA("cuFuncSetAttribute", k, int(kFunctionMaxDynamicSharedBytes), 227 << 10);
  EXPECT_EQ(launch(k, {1}, {32}, 227 << 10, a, 1u, 32u), kSuccess);
  int value = 0;
  EXPECT_CUDA("cuFuncGetAttribute", &value, int(kFunctionMaxThreadsPerBlock), k);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuda("cuLaunchKernel", k, 1u, 1u, 1u, 1u, 1u, 1u, 0u, noStream, static_cast<void **>(nullptr),
                 static_cast<void **>(nullptr)),
            kErrorInvalidValue);
  // The parameters packed into one buffer.
  struct {
    uint64_t a;
    uint32_t factor, n;
  } packed{a, 0, 1};
  size_t size = sizeof packed;
  void *extra[] = {reinterpret_cast<void *>(1), &packed, reinterpret_cast<void *>(2), &size, nullptr};
  EXPECT_CUDA("cuLaunchKernel", k, 1u, 1u, 1u, 1u, 1u, 1u, 0u, noStream, static_cast<void **>(nullptr),
              static_cast<void **>(extra));
  EXPECT_EQ(download<uint32_t>(a, 1)[0], 0u);
}

TEST_F(DriverTest, LimitsThatAKernelDeclares) {
  void *most = kernel(header() + ".visible .entry k() .maxntid 64, 2, 1 { ret; }");
  EXPECT_EQ(launch(most, {}, {128}, 0), kSuccess);
  EXPECT_EQ(launch(most, {}, {129}, 0), kErrorLaunchOutOfResources);
  void *exactly = kernel(header() + ".visible .entry k() .reqntid 32, 4 { ret; }");
  EXPECT_EQ(launch(exactly, {}, {32, 4}, 0), kSuccess);
  EXPECT_EQ(launch(exactly, {}, {128}, 0), kErrorInvalidValue);
}

// Returns a kernel that keeps `count` numbers in registers.
std::string keeper(unsigned count, const std::string &directives = "") {
  std::string ptx = ".visible .entry k(.param .u64 a) " + directives + "\n{\n.reg .f32 %f<" +
                    std::to_string(count + 1) +
                    ">;\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\n"
                    "mad.wide.u32 %rd1, %r1, 4, %rd1;\n";
  auto numbered = [](unsigned i) { return "%f" + std::to_string(i); };
  for (unsigned i = 0; i < count; ++i)
    ptx += "ld.volatile.global.f32 " + numbered(i) + ", [%rd1];\n";
  for (unsigned i = 0; i < count; ++i)
    ptx += "st.volatile.global.f32 [%rd1], " + numbered(i) + ";\n";
  return ptx + "ret;\n}\n";
}

// A processor (SM) has 65,536 registers.
TEST_F(DriverTest, RegistersOfALaunch) {
  uint64_t a = upload(std::vector<uint32_t>(1024, 1));
  // ptxas's code fits into the limit of .maxntid. Without ptxas, only the kernel's directives are known.
  EXPECT_EQ(launch(kernel(header() + keeper(100, ".maxntid 512")), {}, {512}, 0, a), kSuccess);
  setenv("HEDDLE_EMULATOR_PTXAS", "/nowhere/ptxas", 1);
  void *unknown = kernel(header() + keeper(100));
  EXPECT_EQ(launch(unknown, {}, {1024}, 0, a), kSuccess);
  int registers = 0, threads = 0;
  EXPECT_CUDA("cuFuncGetAttribute", &registers, int(kFunctionRegisters), unknown);
  EXPECT_EQ(registers, 255);
  EXPECT_CUDA("cuFuncGetAttribute", &registers, int(kFunctionRegisters), kernel(header() + keeper(1, ".maxntid 384")));
  EXPECT_EQ(registers, 168);
  EXPECT_CUDA("cuFuncGetAttribute", &registers, int(kFunctionRegisters),
              kernel(header() + keeper(1, ".maxntid 256 .minnctapersm 2")));
  EXPECT_EQ(registers, 128);
  EXPECT_CUDA("cuFuncGetAttribute", &registers, int(kFunctionRegisters), kernel(header() + keeper(1, ".maxnreg 40")));
  EXPECT_EQ(registers, 40);
  unsetenv("HEDDLE_EMULATOR_PTXAS");

  if (std::system("ptxas --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "there is no ptxas in PATH, which counts registers";
  void *k = kernel(header() + keeper(100));
  EXPECT_CUDA("cuFuncGetAttribute", &registers, int(kFunctionRegisters), k);
  EXPECT_GE(registers, 100);
  EXPECT_LE(registers, 128);
  EXPECT_EQ(launch(k, {}, {512}, 0, a), kSuccess);
  EXPECT_EQ(launch(k, {}, {1024}, 0, a), kErrorLaunchOutOfResources);
  EXPECT_CUDA("cuFuncGetAttribute", &threads, int(kFunctionMaxThreadsPerBlock), k);
  EXPECT_GE(threads, 512);
  EXPECT_LT(threads, 1024);
  EXPECT_EQ(launch(k, {}, {static_cast<unsigned>(threads)}, 0, a), kSuccess);
  EXPECT_EQ(launch(k, {}, {static_cast<unsigned>(threads) + 1}, 0, a), kErrorLaunchOutOfResources);
}

TEST_F(DriverTest, Events) {
  void *first = nullptr, *second = nullptr, *untimed = nullptr;
  EXPECT_CUDA("cuEventCreate", &first, 0u);
  EXPECT_CUDA("cuEventCreate", &second, 0u);
  EXPECT_CUDA("cuEventCreate", &untimed, 2u);
  float milliseconds = -1;
  EXPECT_EQ(cuda("cuEventElapsedTime", &milliseconds, first, second), kErrorInvalidHandle);
  EXPECT_CUDA("cuEventRecord", first, noStream);
  EXPECT_CUDA("cuEventRecord", second, noStream);
  EXPECT_CUDA("cuEventRecord", untimed, noStream);
  EXPECT_CUDA("cuEventSynchronize", second);
  EXPECT_CUDA("cuEventElapsedTime", &milliseconds, first, second);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cuda("cuEventElapsedTime", &milliseconds, first, untimed), kErrorInvalidHandle);
  for (void *event : {first, second, untimed})
    EXPECT_CUDA("cuEventDestroy_v2", event);
  EXPECT_EQ(cuda("cuEventDestroy_v2", first), kErrorInvalidHandle);
}

// A host function, and the work behind it in its stream, run only when somebody waits for them.
TEST_F(DriverTest, HostFunctions) {
  void *stream = nullptr, *other = nullptr, *event = nullptr;
  EXPECT_CUDA("cuStreamCreate", &stream, 1u);
  EXPECT_CUDA("cuStreamCreateWithPriority", &other, 1u, -1);
  EXPECT_CUDA("cuEventCreate", &event, 2u);
  int least = -1, greatest = 1;
  EXPECT_CUDA("cuCtxGetStreamPriorityRange", &least, &greatest);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, least);
  uint64_t memory = upload(std::vector<uint32_t>{1});
  int calls = 0;
  auto count = +[](void *calls) { ++*static_cast<int *>(calls); };
  auto value = [&] { return download<uint32_t>(memory, 1)[0]; };
  auto enqueue = [&] {
    EXPECT_CUDA("cuLaunchHostFunc", stream, count, static_cast<void *>(&calls));
    EXPECT_CUDA("cuMemsetD32Async", static_cast<unsigned long long>(memory), static_cast<unsigned>(calls + 7),
                size_t(1), stream);
  };
  enqueue();
  EXPECT_CUDA("cuEventRecord", event, stream);
  enqueue();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(value(), 1u);
  EXPECT_CUDA("cuStreamWaitEvent", other, event, 0u); // waits only for the first two
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(value(), 7u);
  EXPECT_CUDA("cuStreamSynchronize", other);
  EXPECT_EQ(calls, 1);
  EXPECT_CUDA("cuStreamSynchronize", stream);
  EXPECT_EQ(calls, 2);
  enqueue();
  EXPECT_CUDA("cuCtxSynchronize");
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(value(), 9u);
  enqueue();
  EXPECT_CUDA("cuEventRecord", event, stream);
  EXPECT_CUDA("cuStreamDestroy_v2", stream);
  EXPECT_EQ(calls, 4);
  EXPECT_CUDA("cuEventSynchronize", event);
  EXPECT_CUDA("cuEventDestroy_v2", event);
  EXPECT_CUDA("cuStreamDestroy_v2", other);
  EXPECT_EQ(cuda("cuLaunchHostFunc", noStream, static_cast<void (*)(void *)>(nullptr), static_cast<void *>(&calls)),
            kErrorInvalidValue);
}

TEST_F(DriverTest, Graphs) {
  void *k = scale();
  uint64_t a = upload(std::vector<uint32_t>(4, 1));
  uint32_t two = 2, ten = 10, n = 4;
  void *doubles[] = {&a, &two, &n}, *tens[] = {&a, &ten, &n};
  void *graph = nullptr, *exec = nullptr, *first = nullptr, *second = nullptr, *none = nullptr;
  EXPECT_CUDA("cuGraphCreate", &graph, 0u);
  KernelNodeParams one = node(k, doubles, 4), other = node(k, tens, 4);
  EXPECT_CUDA("cuGraphAddKernelNode_v2", &first, graph, static_cast<void *const *>(nullptr), size_t(0),
              static_cast<const KernelNodeParams *>(&one));
  EXPECT_CUDA("cuGraphAddKernelNode_v2", &second, graph, static_cast<void *const *>(nullptr), size_t(0),
              static_cast<const KernelNodeParams *>(&other));
  // The values are copied when a node is added.
  two = ten = 0;
  // Without a dependency, the node added later runs first.
  EXPECT_CUDA("cuGraphInstantiateWithFlags", &exec, graph, 0ull);
  EXPECT_CUDA("cuGraphLaunch", exec, none);
  EXPECT_EQ(download<uint32_t>(a, 4), (std::vector<uint32_t>{20, 23, 26, 29}));
  EXPECT_CUDA("cuGraphExecDestroy", exec);
  EXPECT_CUDA("cuGraphAddDependencies", graph, static_cast<void *const *>(&first), static_cast<void *const *>(&second),
              size_t(1));
  EXPECT_CUDA("cuGraphInstantiateWithFlags", &exec, graph, 0ull);
  EXPECT_CUDA("cuMemsetD32Async", a, 1u, size_t(4), none);
  EXPECT_CUDA("cuGraphLaunch", exec, none);
  EXPECT_EQ(download<uint32_t>(a, 4), (std::vector<uint32_t>{20, 31, 42, 53}));
  uint32_t three = 3;
  void *threes[] = {&a, &three, &n};
  KernelNodeParams changed = node(k, threes, 4);
  EXPECT_CUDA("cuGraphExecKernelNodeSetParams_v2", exec, second, static_cast<const KernelNodeParams *>(&changed));
  EXPECT_CUDA("cuMemsetD32Async", a, 1u, size_t(4), none);
  EXPECT_CUDA("cuGraphLaunch", exec, none);
  EXPECT_EQ(download<uint32_t>(a, 4), (std::vector<uint32_t>{6, 10, 14, 18}));
  // A graph with a cycle cannot run.
  void *cyclic = nullptr;
  EXPECT_CUDA("cuGraphAddDependencies", graph, static_cast<void *const *>(&second), static_cast<void *const *>(&first),
              size_t(1));
  EXPECT_EQ(cuda("cuGraphInstantiateWithFlags", &cyclic, graph, 0ull), kErrorInvalidValue);
  EXPECT_CUDA("cuGraphExecDestroy", exec);
  EXPECT_CUDA("cuGraphDestroy", graph);
}

TEST_F(DriverTest, AnUpdateTakesWhatItsGraphHas) {
  void *k = scale();
  uint64_t a = upload(std::vector<uint32_t>(4, 1));
  uint32_t two = 2, ten = 10, n = 4;
  void *doubles[] = {&a, &two, &n}, *tens[] = {&a, &ten, &n};
  void *graph = nullptr, *exec = nullptr, *first = nullptr, *second = nullptr, *none = nullptr;
  EXPECT_CUDA("cuGraphCreate", &graph, 0u);
  KernelNodeParams one = node(k, doubles, 4), other = node(k, tens, 4);
  EXPECT_CUDA("cuGraphAddKernelNode_v2", &first, graph, static_cast<void *const *>(nullptr), size_t(0),
              static_cast<const KernelNodeParams *>(&one));
  EXPECT_CUDA("cuGraphAddKernelNode_v2", &second, graph, static_cast<void *const *>(&first), size_t(1),
              static_cast<const KernelNodeParams *>(&other));
  EXPECT_CUDA("cuGraphInstantiateWithFlags", &exec, graph, 0ull);
  KernelNodeParams shorter = node(k, tens, 2);
  EXPECT_CUDA("cuGraphKernelNodeSetParams_v2", second, static_cast<const KernelNodeParams *>(&shorter));
  EXPECT_CUDA("cuGraphNodeSetEnabled", exec, first, 0u);
  EXPECT_CUDA("cuGraphLaunch", exec, none); // neither depends on the other
  EXPECT_EQ(download<uint32_t>(a, 4), (std::vector<uint32_t>{10, 11, 12, 13}));
  GraphUpdateResult result{-1, nullptr, nullptr};
  EXPECT_CUDA("cuGraphExecUpdate_v2", exec, graph, &result);
  EXPECT_EQ(result.result, 0);
  EXPECT_CUDA("cuMemsetD32Async", a, 1u, size_t(4), none);
  EXPECT_CUDA("cuGraphLaunch", exec, none);
  EXPECT_EQ(download<uint32_t>(a, 4), (std::vector<uint32_t>{20, 31, 4, 5}));
  // A graph with another node cannot update the executable graph.
  EXPECT_CUDA("cuGraphAddKernelNode_v2", &second, graph, static_cast<void *const *>(&first), size_t(1),
              static_cast<const KernelNodeParams *>(&other));
  EXPECT_EQ(cuda("cuGraphExecUpdate_v2", exec, graph, &result), kErrorGraphExecUpdateFailure);
  EXPECT_NE(result.result, 0);
  EXPECT_CUDA("cuGraphExecDestroy", exec);
  EXPECT_CUDA("cuGraphDestroy", graph);
}

TEST_F(DriverTest, Capture) {
  void *k = scale();
  uint64_t a = upload(std::vector<uint32_t>(4, 1));
  uint32_t two = 2, n = 4;
  void *doubles[] = {&a, &two, &n};
  void *stream = nullptr, *side = nullptr, *event = nullptr, *back = nullptr, *graph = nullptr, *exec = nullptr;
  EXPECT_CUDA("cuStreamCreate", &stream, 1u);
  EXPECT_CUDA("cuStreamCreate", &side, 1u);
  EXPECT_CUDA("cuEventCreate", &event, 2u);
  EXPECT_CUDA("cuEventCreate", &back, 2u);
  auto capture = [&](void *into) {
    return cuda("cuLaunchKernel", k, 1u, 1u, 1u, 4u, 1u, 1u, 0u, into, static_cast<void **>(doubles),
                static_cast<void **>(nullptr));
  };
  EXPECT_EQ(cuda("cuStreamBeginCapture_v2", noStream, 0), kErrorStreamCaptureUnsupported);
  EXPECT_CUDA("cuStreamBeginCapture_v2", stream, 2);
  EXPECT_EQ(capture(stream), kSuccess);
  // The side stream joins the capture and is joined again.
  EXPECT_CUDA("cuEventRecord", event, stream);
  EXPECT_CUDA("cuStreamWaitEvent", side, event, 0u);
  EXPECT_EQ(capture(side), kSuccess);
  EXPECT_CUDA("cuEventRecord", back, side);
  EXPECT_CUDA("cuStreamWaitEvent", stream, back, 0u);
  EXPECT_CUDA("cuStreamEndCapture", stream, &graph);
  EXPECT_EQ(download<uint32_t>(a, 4), std::vector<uint32_t>(4, 1)); // nothing ran
  EXPECT_CUDA("cuGraphInstantiateWithFlags", &exec, graph, 0ull);
  EXPECT_CUDA("cuGraphLaunch", exec, stream);
  EXPECT_EQ(download<uint32_t>(a, 4), (std::vector<uint32_t>{4, 7, 10, 13}));
  EXPECT_CUDA("cuGraphExecDestroy", exec);
  EXPECT_CUDA("cuGraphDestroy", graph);
  // Unjoined work, and a wait during a capture, are errors.
  EXPECT_CUDA("cuStreamBeginCapture_v2", stream, 2);
  EXPECT_CUDA("cuEventRecord", event, stream);
  EXPECT_CUDA("cuStreamWaitEvent", side, event, 0u);
  EXPECT_EQ(capture(side), kSuccess);
  EXPECT_EQ(cuda("cuStreamEndCapture", stream, &graph), kErrorStreamCaptureUnjoined);
  EXPECT_CUDA("cuStreamBeginCapture_v2", stream, 2);
  EXPECT_EQ(cuda("cuStreamSynchronize", stream), kErrorStreamCaptureUnsupported);
  EXPECT_EQ(capture(stream), kErrorStreamCaptureInvalidated);
  EXPECT_EQ(cuda("cuStreamEndCapture", stream, &graph), kErrorStreamCaptureInvalidated);
  EXPECT_EQ(capture(stream), kSuccess); // the stream is usable again
  for (void *one : {event, back})
    EXPECT_CUDA("cuEventDestroy_v2", one);
  for (void *one : {stream, side})
    EXPECT_CUDA("cuStreamDestroy_v2", one);
}

// Modules.

TEST_F(DriverTest, WhatIsNotKnownIsRefusedByLine) {
  std::string log;
  auto body = [&](const std::string &text) {
    return loadError(header() + ".visible .entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n" + text + "\nret;\n}\n",
                     log);
  };
  EXPECT_EQ(body("frobnicate.u32 %r1, %r2;"), kErrorInvalidPtx);
  EXPECT_EQ(log, "ptx line 8: unknown instruction frobnicate in 'frobnicate.u32 %r1, %r2'");
  EXPECT_EQ(body("add.wide.u32 %r1, %r2, %r3;"), kErrorInvalidPtx);
  EXPECT_EQ(log, "ptx line 8: unknown modifier .wide in 'add.wide.u32 %r1, %r2, %r3'");
  EXPECT_EQ(body("add.u32 %r1, %r2, %nowhere;"), kErrorInvalidPtx);
  EXPECT_NE(log.find("unknown name %nowhere"), std::string::npos) << log;
  EXPECT_EQ(body("add.u32 %r1, %r2;"), kErrorInvalidPtx);
  EXPECT_NE(log.find("operand 3 is missing"), std::string::npos) << log;
  EXPECT_EQ(body("\n\nbra nowhere;"), kErrorInvalidPtx);
  EXPECT_EQ(log, "ptx line 10: unknown label nowhere in 'bra nowhere'");
  EXPECT_EQ(body("add.u32 %r1, %r2, 3"), kErrorInvalidPtx);
  EXPECT_NE(log.find("expected ';'"), std::string::npos) << log;
  EXPECT_EQ(body("wgmma.fence.sync.aligned;"), kErrorInvalidPtx);
  EXPECT_EQ(body("ld.param.u32 %r1, [k_param_9];"), kErrorInvalidPtx);
  EXPECT_EQ(body(".shared .b8 big[49153];"), kErrorInvalidPtx);
  EXPECT_NE(log.find("static shared memory"), std::string::npos) << log;
  EXPECT_EQ(loadError(header() + ".visible .entry k()\n{\n", log), kErrorInvalidPtx);
  EXPECT_EQ(loadError(".version 8.0\n.target sm_100\n.address_size 64\n", log), kErrorNoBinaryForGpu);
  void *module = nullptr;
  const char cubin[] = "\x7f"
                       "ELF....";
  EXPECT_EQ(cuda("cuModuleLoadData", &module, static_cast<const void *>(cubin)), kErrorNoBinaryForGpu);
  EXPECT_EQ(cuda("cuModuleLoadData", &module, static_cast<const void *>("nonsense")), kErrorInvalidImage);
}

TEST_F(DriverTest, UnknownKernelsAndModules) {
  void *module = nullptr, *function = nullptr;
  std::string ptx = header() + ".visible .entry k() { ret; }";
  EXPECT_CUDA("cuModuleLoadData", &module, static_cast<const void *>(ptx.c_str()));
  EXPECT_EQ(cuda("cuModuleGetFunction", &function, module, "other"), kErrorNotFound);
  EXPECT_CUDA("cuModuleGetFunction", &function, module, "k");
  EXPECT_CUDA("cuModuleUnload", module);
  EXPECT_EQ(cuda("cuModuleUnload", module), kErrorInvalidHandle);
  EXPECT_EQ(launch(function, {}, {}, 0), kErrorInvalidHandle);
}

TEST_F(DriverTest, VariablesFunctionsAndJumpTables) {
  void *k = kernel(header() + R"(
.const .align 4 .f32 table[4] = {1.0, 0f40000000, 3.0};
.global .align 8 .u64 pointer = generic(words)+4;
.global .align 4 .u32 words[3] = {7, 8, 0x9};
.global .align 4 .b8 bytes[8] = {1, 2, 3, 4};

.func (.param .b32 result) power(.param .b32 base, .param .b32 exponent)
{
  .reg .b32 %r<6>;
  .reg .pred %p<2>;
  .local .align 4 .b8 depot[8];
  ld.param.b32 %r1, [base];
  ld.param.b32 %r2, [exponent];
  st.local.b32 [depot+4], %r1;
  mov.u32 %r3, 1;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra done;
  sub.u32 %r4, %r2, 1;
  {
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 r0;
    st.param.b32 [p0], %r1;
    st.param.b32 [p1], %r4;
    call.uni (r0), power, (p0, p1);
    ld.param.b32 %r3, [r0];
  }
  ld.local.b32 %r1, [depot+4];
  mul.lo.u32 %r3, %r3, %r1;
done:
  st.param.b32 [result], %r3;
  ret;
}

.visible .entry k(.param .u64 out, .param .align 8 .b8 pair[16])
{
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [out];
  ld.const.f32 %f1, [table+8];
  st.global.f32 [%rd1], %f1;
  ld.global.u64 %rd2, [pointer];
  ld.u32 %r1, [%rd2];
  st.global.u32 [%rd1+4], %r1;
  ld.global.u32 %r2, [bytes];
  st.global.u32 [%rd1+8], %r2;
  {
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 r0;
    st.param.b32 [p0], 3;
    st.param.b32 [p1], 5;
    call.uni (r0), power, (p0, p1);
    ld.param.b32 %r3, [r0];
  }
  st.global.u32 [%rd1+12], %r3;
  mov.b64 %rd3, pair;
  cvta.param.u64 %rd3, %rd3;
  ld.u32 %r4, [%rd3+8];
  st.global.u32 [%rd1+16], %r4;
  ld.param.u32 %r5, [pair+4];
  mov.u32 %r6, 0;
targets: .branchtargets zero, one, two;
  brx.idx %r5, targets;
zero: mov.u32 %r6, 10;
  bra.uni end;
one: mov.u32 %r6, 11;
  bra.uni end;
two: mov.u32 %r6, 12;
end:
  st.global.u32 [%rd1+20], %r6;
  ld.const.f32 %f1, [table+12];
  st.global.f32 [%rd1+24], %f1;
  ret;
}
)");
  struct Pair {
    uint32_t words[4];
  };
  uint64_t out = allocate(28);
  ASSERT_EQ(launch(k, {}, {}, 0, out, Pair{{5, 2, 77, 0}}), kSuccess);
  EXPECT_EQ(download<uint32_t>(out, 7), (std::vector<uint32_t>{0x40400000, 8, 0x04030201, 243, 77, 12, 0}));
}

} // namespace
} // namespace heddle::test
