#include "test/cuda/EmulatorTest.h"

#include <cstdlib>
#include <dlfcn.h>

namespace heddle::test {

Api &Api::get() {
  static Api api;
  return api;
}

Api::Api() : library(dlopen(HEDDLE_CUDA_EMULATOR, RTLD_NOW | RTLD_LOCAL)) {
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
}

void *Api::find(const char *name) {
  void *function = dlsym(library, name);
  if (!function) {
    std::fprintf(stderr, "the emulator has no %s\n", name);
    std::abort();
  }
  return function;
}

void EmulatorTest::SetUp() {
  void *context = nullptr;
  ASSERT_EQ(Api::get()("cuInit", 0u), emulator::kSuccess);
  ASSERT_EQ(Api::get()("cuDevicePrimaryCtxRetain", &context, 0), emulator::kSuccess);
  ASSERT_EQ(Api::get()("cuCtxSetCurrent", context), emulator::kSuccess);
}

void EmulatorTest::TearDown() {
  // After a fault these calls fail, and the context frees the rest.
  bool healthy = Api::get()("cuCtxSynchronize") == emulator::kSuccess;
  for (void *module : modules)
    Api::get()("cuModuleUnload", module);
  for (uint64_t address : allocations)
    Api::get()("cuMemFree_v2", address);
  ::testing::internal::CaptureStderr();
  EXPECT_CUDA("cuDevicePrimaryCtxRelease_v2", 0);
  std::string message = ::testing::internal::GetCapturedStderr();
  if (healthy) {
    EXPECT_EQ(message, "");
  }
}

uint64_t EmulatorTest::allocate(size_t bytes) {
  unsigned long long address = 0;
  EXPECT_CUDA("cuMemAlloc_v2", &address, bytes);
  allocations.push_back(address);
  return address;
}

int EmulatorTest::loadError(const std::string &ptx, std::string &log) {
  void *module = nullptr;
  char text[1024] = "";
  int options[] = {emulator::kJitErrorLogBuffer, emulator::kJitErrorLogBufferBytes};
  void *values[] = {text, reinterpret_cast<void *>(sizeof text)};
  int result = Api::get()("cuModuleLoadDataEx", &module, static_cast<const void *>(ptx.c_str()), 2u, options, values);
  log = text;
  if (result == emulator::kSuccess)
    modules.push_back(module);
  return result;
}

void *EmulatorTest::kernel(const std::string &ptx, const char *name) {
  std::string log;
  EXPECT_EQ(loadError(ptx, log), emulator::kSuccess) << log << "\n" << ptx;
  void *function = nullptr;
  if (log.empty()) {
    EXPECT_CUDA("cuModuleGetFunction", &function, modules.back(), name);
  }
  return function;
}

int EmulatorTest::launchWith(void *function, Size grid, Size block, unsigned sharedBytes, void **arguments) {
  void *none = nullptr;
  int result = Api::get()("cuLaunchKernel", function, grid.x, grid.y, grid.z, block.x, block.y, block.z, sharedBytes,
                          none, arguments, static_cast<void **>(nullptr));
  return result ? result : Api::get()("cuCtxSynchronize");
}

std::string EmulatorTest::header(unsigned target) {
  return ".version 8.0\n.target sm_" + std::to_string(target) + "\n.address_size 64\n";
}

std::vector<uint64_t> EmulatorTest::evaluate(const std::string &body, const std::string &result,
                                             const std::vector<Row> &rows) {
  std::string ptx = header() + R"(
.visible .entry k(.param .u64 out, .param .u64 in)
{
  .reg .b32 %tid, %r<20>;
  .reg .f32 %f<20>;
  .reg .b64 %rd<20>, %to, %from;
  .reg .f64 %fd<20>;
  .reg .b16 %rs<20>;
  .reg .b128 %rq<4>;
  .reg .pred %p<10>;
  mov.u32 %tid, %tid.x;
  ld.param.u64 %from, [in];
  mad.wide.u32 %from, %tid, 24, %from;
)";
  for (unsigned i = 1; i <= 3; ++i) {
    std::string n = std::to_string(i);
    ptx += "  ld.global.b64 %rd" + n + ", [%from+" + std::to_string(8 * (i - 1)) + "];\n  cvt.u32.u64 %r" + n +
           ", %rd" + n + ";\n  mov.b32 %f" + n + ", %r" + n + ";\n  cvt.u16.u64 %rs" + n + ", %rd" + n +
           ";\n  mov.b64 %fd" + n + ", %rd" + n + ";\n";
  }
  ptx += "  " + body + "\n  ld.param.u64 %to, [out];\n  mad.wide.u32 %to, %tid, 8, %to;\n";
  if (result.rfind("%p", 0) == 0)
    ptx += "  selp.b64 %rd19, 1, 0, " + result + ";\n";
  else if (result.rfind("%rs", 0) == 0)
    ptx += "  cvt.u64.u16 %rd19, " + result + ";\n";
  else if (result.rfind("%rd", 0) == 0 || result.rfind("%fd", 0) == 0)
    ptx += "  mov.b64 %rd19, " + result + ";\n";
  else
    ptx += "  mov.b32 %r19, " + result + ";\n  cvt.u64.u32 %rd19, %r19;\n";
  ptx += "  st.global.b64 [%to], %rd19;\n  ret;\n}\n";
  std::vector<uint64_t> flat;
  for (const Row &row : rows)
    flat.insert(flat.end(), row.begin(), row.end());
  auto count = static_cast<unsigned>(rows.size());
  uint64_t in = upload(flat), out = allocate(8 * count);
  EXPECT_LE(count, 1024u);
  EXPECT_EQ(launch(kernel(ptx), {}, {count}, 0, out, in), emulator::kSuccess) << body;
  return download<uint64_t>(out, count);
}

} // namespace heddle::test
