#include "tools/heddle-run/report/StopSignal.h"

#include <csignal>

namespace heddle::run {
namespace {

volatile std::sig_atomic_t received = 0;

extern "C" void heddleRunNoteSignal(int signal) { received = signal; }

} // namespace

void watchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = heddleRunNoteSignal;
  action.sa_flags = int(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A file that would outgrow its limit is then an error of the write that does it, like that of a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
}

int stopSignal() { return received; }

} // namespace heddle::run
