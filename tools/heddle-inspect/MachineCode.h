// Reads AMD machine code as Mesa's driver prints it: labels "BB7:", one instruction per line.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace heddle {

// Counts the instructions of an innermost loop, by the unit that executes them.
struct LoopCount {
  size_t arithmetic = 0;   // vector unit; a pair that is issued at once (v_dual_...) counts as two
  size_t multiplyAdds = 0; // the arithmetic instructions that multiply and add
  size_t memory = 0;       // vector loads and stores of device, scratch and shared memory
  size_t scalar = 0;       // everything else: branches, waits, addresses shared by all lanes

  double multiplyAddShare() const {
    size_t vector = arithmetic + memory;
    return vector ? double(multiplyAdds) / double(vector) : 0;
  }
};

// Returns the innermost loops, in the order of the code.
std::vector<LoopCount> innermostLoops(std::string_view assembly);

} // namespace heddle
