// setmaxnreg: the warps of a block give registers to each other.
#include "test/cuda/emulator/Cluster.h"
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/Machine.h"

namespace heddle::emulator {

// The first lane acts for its warp; the other lanes find it done, or wait with it.
void Block::setRegisters(Thread *thread, const Site *site) {
  constexpr uint32_t kLanes = 32;
  Warp &warp = *thread->warp;
  while (warp.registers != site->registers) {
    if ((site->registers > warp.registers) != site->increases)
      fail(thread, site, kErrorLaunchFailed,
           "the warp has " + std::to_string(warp.registers) + " registers in each lane already");
    if (!site->increases) {
      freeRegisters += kLanes * (warp.registers - site->registers);
      warp.registers = site->registers;
      for (Thread *waiting : registerWaiters) {
        waiting->wait = Wait::None;
        cluster.ready.push_back(waiting);
      }
      registerWaiters.clear();
      return;
    }
    uint32_t more = kLanes * (site->registers - warp.registers);
    if (more <= freeRegisters) {
      freeRegisters -= more;
      warp.registers = site->registers;
      return;
    }
    registerWaiters.push_back(thread);
    thread->wait = Wait::Registers;
    thread->site = site;
    cluster.park(thread);
  }
}

} // namespace heddle::emulator
