// For unit tests: the runtime's headers, and GoogleTest's.
#include "cmake/headers/Runtime.h"

#include <gtest/gtest.h>
#include <random>
