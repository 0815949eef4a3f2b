// Lets a training run end in good order, with a checkpoint. The first SIGINT or SIGTERM asks it to, a second one kills
// it as usual. SIGHUP, SIGXCPU and SIGPIPE ask too, unless they are ignored (nohup), and never kill. A file size limit
// fails the write instead of killing the program.
#pragma once

namespace heddle::run {

// Watches SIGPIPE, before the first message: `2>&1 | head -1` stops reading after it.
void watchLostReader();
void watchStopSignals();

// The signal that came, or 0.
int stopSignal();

} // namespace heddle::run
