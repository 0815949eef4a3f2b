// Lets a training run end in good order, with a checkpoint. The first SIGINT or SIGTERM asks it to, a second one kills
// it as usual. SIGHUP, SIGXCPU and SIGPIPE ask too, unless they are ignored (nohup), and never kill. A file size limit
// fails the write instead of killing the program.
#pragma once

namespace heddle::run {

// SIGPIPE alone, which the first message may raise: nobody reads on behind `2>&1 | head -1`.
void watchLostReader();
void watchStopSignals();

// The signal that came, or 0.
int stopSignal();

} // namespace heddle::run
