# find_package(Heddle) defines:
#   Heddle::heddle   the shared library with the C API (heddle.h)
#   Heddle::heddle-train  the same with training (heddle_train)
#   Heddle::session  the static library that also has the C++ API ("runtime/session/Session.h")
#   Heddle::train    the static library for texts, translation and training ("runtime/train/Trainer.h"); needs nlohmann's JSON headers,
#                    SentencePiece, utf8proc, xxHash, zlib and Zstandard
# find_package(Heddle COMPONENTS Compiler) is for plug-ins of the compiler: HeddleCompiler.cmake.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/HeddleTargets.cmake")
foreach(component IN LISTS Heddle_FIND_COMPONENTS)
  if(component STREQUAL "Compiler" AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/HeddleCompiler.cmake")
    include("${CMAKE_CURRENT_LIST_DIR}/HeddleCompiler.cmake")
  elseif(Heddle_FIND_REQUIRED_${component})
    set(Heddle_FOUND FALSE)
    set(Heddle_NOT_FOUND_MESSAGE "this Heddle was installed without the component ${component}; it has Compiler where it was built with it")
  endif()
endforeach()
