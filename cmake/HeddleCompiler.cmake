# Chooses the C++ compiler before CMake looks for it: clang of LLVM 22 where there is one and nobody chose another. It
# compiles MLIR's headers in 0.6 of the time that gcc takes, and in half of the memory. gcc works too: -DCMAKE_CXX_COMPILER=g++
if(NOT DEFINED CMAKE_CXX_COMPILER AND NOT DEFINED CMAKE_C_COMPILER AND NOT DEFINED CMAKE_TOOLCHAIN_FILE AND
   NOT DEFINED ENV{CXX} AND NOT DEFINED ENV{CC})
  find_program(HEDDLE_CLANGXX clang++-22)
  find_program(HEDDLE_CLANG clang-22)
  mark_as_advanced(HEDDLE_CLANGXX HEDDLE_CLANG)
  if(HEDDLE_CLANGXX AND HEDDLE_CLANG)
    set(CMAKE_CXX_COMPILER "${HEDDLE_CLANGXX}")
    set(CMAKE_C_COMPILER "${HEDDLE_CLANG}")
  endif()
endif()
