# find_package(Heddle): Heddle::heddle is the shared library with the C API (heddle.h), Heddle::session the static one with the C++ API
# ("runtime/session/Session.h") as well.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/HeddleTargets.cmake")
