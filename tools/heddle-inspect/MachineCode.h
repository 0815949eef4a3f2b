// Reads AMD's machine code as Mesa's driver prints it: labels "BB7:", an instruction on each line.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace heddle {

// The instructions of a loop that has no loop inside, by what executes them.
struct LoopCount {
  size_t arithmetic = 0;   // of the vector unit; a pair that is issued at once (v_dual_...) is two
  size_t multiplyAdds = 0; // how many of the arithmetic instructions multiply and add
  size_t memory = 0;       // vector loads and stores of device, scratch and shared memory
  size_t scalar = 0;       // everything else: branches, waits, addresses that all lanes share

  double multiplyAddShare() const {
    size_t vector = arithmetic + memory;
    return vector ? double(multiplyAdds) / double(vector) : 0;
  }
};

// In the code's order.
std::vector<LoopCount> innermostLoops(std::string_view assembly);

} // namespace heddle
