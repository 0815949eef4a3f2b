// Programs whose loss contains an op's result: GradientsTest.cpp checks their gradients.
#pragma once

#include "test/compiler/Reference/Program.h"

#include <functional>
#include <map>
#include <string>

namespace heddle::test {

using Check = std::function<void(Program &)>;
using Checks = std::map<std::string, Check>; // by the op's name

// One function per file.
void addElementwiseChecks(Checks &checks);
void addPairChecks(Checks &checks);
void addRoutingChecks(Checks &checks);
void addSequenceChecks(Checks &checks);
void addSumChecks(Checks &checks);

// Returns the end of an op's text if all operands and results have the same type.
inline std::string ofType(const Dims &dims) { return " : " + Program::type(dims); }

// Adds the inputs %seed and %drawn, for ops that draw random numbers.
inline void addSeed(Program &p) {
  p.input("seed", {2}, {12345, -6});
  p.input("drawn", {1}, {3});
}

} // namespace heddle::test
