# Precompiled headers: large headers from outside, parsed once for many sources. A source still includes what it uses.
option(HEDDLE_PRECOMPILE "Parse large headers once: MLIR's, the standard library's, JSON's" ON)

# heddle_headers(<name> <library>...)
#
# Makes the precompiled header of cmake/headers/<name>.h, with the options of these libraries.
function(heddle_headers name)
  # gcc takes a precompiled header for flags that are the same to the letter, which those of executables and libraries are not.
  if(NOT HEDDLE_PRECOMPILE OR (NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT name MATCHES "MLIR|Compiler"))
    return()
  endif()
  set(library heddle_headers_${name})
  add_library(${library} OBJECT "${PROJECT_SOURCE_DIR}/cmake/headers/Empty.cpp")
  target_link_libraries(${library} PRIVATE heddle_build ${ARGN})
  target_precompile_headers(${library} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/headers/${name}.h")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Without the headers' times: the compiler cache then serves another clone, too.
    target_compile_options(${library} PRIVATE -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# heddle_precompile(<target> <name>): lets a target use such a header.
function(heddle_precompile target name)
  if(TARGET heddle_headers_${name})
    target_precompile_headers(${target} REUSE_FROM heddle_headers_${name})
  endif()
endfunction()
