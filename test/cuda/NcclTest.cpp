// The emulated NCCL: processes on this machine, each with the emulated driver.
#include "test/cuda/EmulatorTest.h"

#include <dlfcn.h>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::test {
namespace {

using namespace emulator;

struct Id {
  char bytes[128];
};

constexpr int kInt8 = 0, kFloat32 = 7, kSum = 0;

// NCCL's functions, in a process with a context.
class Nccl {
public:
  Nccl() : library(dlopen(HEDDLE_NCCL_EMULATOR, RTLD_NOW | RTLD_LOCAL)) {}
  template <typename... Arguments> int operator()(const char *name, Arguments... arguments) {
    return reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))(arguments...);
  }

private:
  void *library;
};

// A rank in its own process.
struct Rank {
  int rank;
  Nccl nccl;
  Api &cuda = Api::get();
  void *communicator = nullptr, *compute = nullptr, *stream = nullptr, *event = nullptr;

  unsigned long long upload(const std::vector<float> &values) {
    unsigned long long address = 0;
    cuda("cuMemAlloc_v2", &address, values.size() * sizeof(float));
    cuda("cuMemcpyHtoD_v2", address, static_cast<const void *>(values.data()), values.size() * sizeof(float));
    return address;
  }
  std::vector<float> download(unsigned long long address, size_t count) {
    std::vector<float> values(count);
    cuda("cuMemcpyDtoH_v2", static_cast<void *>(values.data()), address, count * sizeof(float));
    return values;
  }
  int sum(unsigned long long from, unsigned long long to, size_t count) {
    return nccl("ncclAllReduce", reinterpret_cast<const void *>(from), reinterpret_cast<void *>(to), count, kFloat32,
                kSum, communicator, stream);
  }
  int broadcast(unsigned long long at, size_t bytes, int root) {
    return nccl("ncclBroadcast", reinterpret_cast<const void *>(at), reinterpret_cast<void *>(at), bytes, kInt8, root,
                communicator, stream);
  }
  // The compute stream waits for the work given to the other stream.
  void follow() {
    cuda("cuEventRecord", event, stream);
    cuda("cuStreamWaitEvent", compute, event, 0u);
  }
};

// Runs `body` in this many processes. Returns true if it returned true in all of them.
bool inRanks(int ranks, const std::function<bool(Rank &)> &body) {
  Id id;
  if (Nccl()("ncclGetUniqueId", &id) != 0)
    return false;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      Rank self{rank, {}};
      void *context = nullptr;
      bool isOk = self.cuda("cuInit", 0u) == 0 && self.cuda("cuDevicePrimaryCtxRetain", &context, 0) == 0 &&
                  self.cuda("cuCtxSetCurrent", context) == 0 && self.cuda("cuStreamCreate", &self.compute, 1u) == 0 &&
                  self.cuda("cuStreamCreateWithPriority", &self.stream, 1u, -5) == 0 &&
                  self.cuda("cuEventCreate", &self.event, 2u) == 0 &&
                  self.nccl("ncclCommInitRank", &self.communicator, ranks, id, rank) == 0 && body(self);
      _exit(isOk ? 0 : 1);
    }
    children.push_back(child);
  }
  bool isOk = true;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    isOk &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return isOk;
}

TEST(NcclTest, Sums) {
  EXPECT_TRUE(inRanks(3, [](Rank &self) {
    constexpr size_t kCount = 300'001; // more than one piece
    std::vector<float> own(kCount);
    for (size_t i = 0; i < kCount; ++i)
      own[i] = float(self.rank + 1) * float(i % 1000);
    auto from = self.upload(own), to = self.upload(std::vector<float>(kCount));
    if (self.sum(from, to, kCount) || self.sum(to, to, 7))
      return false;
    self.follow();
    std::vector<float> sums = self.download(to, kCount);
    for (size_t i = 0; i < kCount; ++i)
      if (sums[i] != 6 * float(i % 1000) * (i < 7 ? 3 : 1))
        return false;
    return self.download(from, kCount) == own;
  }));
}

TEST(NcclTest, SumsForOne) {
  EXPECT_TRUE(inRanks(3, [](Rank &self) {
    auto from = self.upload({1, 2}), to = self.upload({-1, -1});
    if (self.nccl("ncclReduce", reinterpret_cast<const void *>(from), reinterpret_cast<void *>(to), size_t(2), kFloat32,
                  kSum, 1, self.communicator, self.stream))
      return false;
    self.follow();
    return self.download(to, 2) == (self.rank == 1 ? std::vector<float>{3, 6} : std::vector<float>{-1, -1});
  }));
}

// Sums and gathers by parts, in place, with 60,000 numbers per part, more than a piece.
TEST(NcclTest, SumsAndGathersByParts) {
  EXPECT_TRUE(inRanks(3, [](Rank &self) {
    constexpr size_t kPart = 60'000, kCount = 3 * kPart;
    std::vector<float> own(kCount), all(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      own[i] = float(self.rank + 1) * float(i % 1000);
      all[i] = 6 * float(i % 1000);
    }
    auto at = self.upload(own);
    auto part = reinterpret_cast<void *>(at + static_cast<unsigned>(self.rank) * kPart * sizeof(float)),
         whole = reinterpret_cast<void *>(at);
    if (self.nccl("ncclReduceScatter", static_cast<const void *>(whole), part, kPart, kFloat32, kSum, self.communicator,
                  self.stream))
      return false;
    self.follow();
    std::vector<float> sums = self.download(at, kCount);
    for (size_t i = 0; i < kCount; ++i)
      if (bool isOwn = i / kPart == size_t(self.rank); sums[i] != (isOwn ? all : own)[i])
        return false;
    if (self.nccl("ncclAllGather", static_cast<const void *>(part), whole, kPart, kFloat32, self.communicator,
                  self.stream))
      return false;
    self.follow();
    return self.download(at, kCount) == all;
  }));
}

// On a GPU the numbers might not be computed yet.
TEST(NcclTest, AnExchangeWaitsForWhatMakesItsNumbers) {
  EXPECT_TRUE(inRanks(2, [](Rank &self) {
    auto at = self.upload({1});
    auto fill = [&] { self.cuda("cuMemsetD32Async", at, 0u, size_t(1), self.compute); };
    auto wait = [&] {
      self.cuda("cuEventRecord", self.event, self.compute);
      self.cuda("cuStreamWaitEvent", self.stream, self.event, 0u);
    };
    fill();
    wait();
    if (self.sum(at, at, 1) != 0)
      return false;
    self.follow();
    wait();
    fill(); // after the event that the exchange waits for
    return self.sum(at, at, 1) == 5 && self.cuda("cuCtxSynchronize") == kErrorLaunchFailed;
  }));
}

TEST(NcclTest, HandsOnInAGroup) {
  EXPECT_TRUE(inRanks(4, [](Rank &self) {
    auto all = self.upload(std::vector<float>(8, float(self.rank)));
    self.nccl("ncclGroupStart");
    for (int root = 0; root < 4; ++root) // each rank has two numbers
      if (self.broadcast(all + static_cast<unsigned>(root) * 8, 8, root))
        return false;
    if (self.nccl("ncclGroupEnd"))
      return false;
    self.follow();
    return self.download(all, 8) == std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3};
  }));
}

// A result is not available before somebody has waited for it.
TEST(NcclTest, WaitsAreNeeded) {
  EXPECT_TRUE(inRanks(2, [](Rank &self) {
    auto at = self.upload({1});
    self.sum(at, at, 1);
    bool isLate = self.download(at, 1)[0] == 1;
    self.follow();
    return isLate && self.download(at, 1)[0] == 2;
  }));
}

bool failsLater(Rank &self) {
  self.follow();
  int error = 0;
  self.nccl("ncclCommGetAsyncError", self.communicator, &error);
  return error == 5 && self.cuda("cuCtxSynchronize") == kErrorLaunchFailed;
}

TEST(NcclTest, RanksThatAskForOtherCounts) {
  EXPECT_TRUE(inRanks(2, [](Rank &self) {
    auto at = self.upload({1, 2, 3});
    return self.sum(at, at, self.rank == 0 ? 3 : 2) == 0 && failsLater(self);
  }));
}

TEST(NcclTest, RanksThatAskInAnotherOrder) {
  EXPECT_TRUE(inRanks(2, [](Rank &self) {
    auto first = self.upload({1, 2, 3}), second = self.upload({1, 2, 3});
    bool isSwapped = self.rank == 1;
    return (isSwapped ? self.broadcast(second, 12, 0) : self.sum(first, first, 3)) == 0 &&
           (isSwapped ? self.sum(first, first, 3) : self.broadcast(second, 12, 0)) == 0 && failsLater(self);
  }));
}

TEST(NcclTest, OutsideOfMemory) {
  EXPECT_TRUE(inRanks(2, [](Rank &self) {
    auto at = self.upload({1, 2, 3});
    return self.sum(at, at, 300) == 0 && failsLater(self);
  }));
}

TEST(NcclTest, Refuses) {
  EXPECT_TRUE(inRanks(1, [](Rank &self) {
    auto at = self.upload({1});
    void *pointer = reinterpret_cast<void *>(at), *communicator = self.communicator, *stream = self.stream;
    constexpr int kOther = 6; // f16
    return self.nccl("ncclAllReduce", static_cast<const void *>(pointer), pointer, size_t(1), kOther, kSum,
                     communicator, stream) == 4 &&
           self.broadcast(at, 4, 1) == 4 && self.nccl("ncclGroupEnd") == 5 &&
           self.nccl("ncclAllReduce", static_cast<const void *>(nullptr), pointer, size_t(1), kFloat32, kSum,
                     communicator, stream) == 4 &&
           self.nccl("ncclCommDestroy", communicator) == 0;
  }));
}

} // namespace
} // namespace heddle::test
