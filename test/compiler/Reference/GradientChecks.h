// Programs that have the result of an op in their loss: what GradientsTest.cpp checks the gradient of.
#pragma once

#include "test/compiler/Reference/Program.h"

#include <functional>
#include <map>
#include <string>

namespace heddle::test {

using Check = std::function<void(Program &)>;
using Checks = std::map<std::string, Check>; // by the op's name

// One function a file.
void addElementwiseChecks(Checks &checks);
void addPairChecks(Checks &checks);
void addSequenceChecks(Checks &checks);
void addSumChecks(Checks &checks);

// What ends the text of an op whose operands and results are all of one type.
inline std::string ofType(const Dims &dims) { return " : " + Program::type(dims); }

// The inputs %seed and %drawn of ops that draw.
inline void addSeed(Program &p) {
  p.input("seed", {2}, {12345, -6});
  p.input("drawn", {1}, {3});
}

} // namespace heddle::test
