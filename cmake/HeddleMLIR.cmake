# Finds MLIR 22 and makes the target `heddle_mlir`, which is all that compiler code links of LLVM.

# Debian's version file accepts only the exact patch release, so the major version is checked by hand.
find_package(MLIR CONFIG QUIET PATHS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "MLIR 22 was not found. Run tools/setup.sh, or pass -DMLIR_DIR=<prefix>/lib/cmake/mlir; "
                      "for the runtime alone configure with -DHEDDLE_BUILD_COMPILER=OFF.")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Heddle needs LLVM and MLIR 22; ${MLIR_DIR} holds ${LLVM_PACKAGE_VERSION}.")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} from ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# The shared libraries and nothing else: a static libMLIR*.a beside them would register every dialect and every
# command-line option twice.
add_library(heddle_mlir INTERFACE)
target_link_libraries(heddle_mlir INTERFACE heddle_build MLIR LLVM)
target_include_directories(heddle_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_include_directories(heddle_mlir INTERFACE "${CMAKE_CURRENT_LIST_DIR}/gcc")
endif()
separate_arguments(heddle_llvm_definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(heddle_mlir INTERFACE
  ${heddle_llvm_definitions}
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:${LLVM_ENABLE_RTTI}>>>:-fno-rtti>)

# gcc 13 and later take an ArrayRef for a reference to the temporary that it was read from.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(heddle_mlir INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()

# LLVM's allocators mark memory for the address sanitizer in header code, and in the installed library they do not: half of
# the marks would be missing. And the library has no type information for the `vptr` check.
if(HEDDLE_SANITIZE)
  target_compile_options(heddle_mlir INTERFACE -fno-sanitize=address,vptr)
endif()

heddle_headers(MLIR heddle_mlir)

# heddle_tablegen(<target> <file.td> <output> <flags>... [<output> <flags>...]...)
#
# Generates C++ from a .td file into the build folder that mirrors this one and makes <target> wait for it:
#   heddle_tablegen(HeddleDialects HeddleOps.td
#     HeddleOps.h.inc   -gen-op-decls
#     HeddleOps.cpp.inc -gen-op-defs)
function(heddle_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS "${td}")
  set(TABLEGEN_OUTPUT)
  # Folders that .td files may include. mlir_tablegen reads this property of the folder in which it is called.
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
  include_directories("${PROJECT_SOURCE_DIR}")
  set(output)
  set(flags)
  foreach(argument IN LISTS ARGN ITEMS END.inc)
    if(argument MATCHES "^-")
      list(APPEND flags "${argument}")
    else()
      if(output)
        mlir_tablegen("${output}" ${flags})
      endif()
      set(output "${argument}")
      set(flags)
    endif()
  endforeach()
  file(RELATIVE_PATH room "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(MAKE_C_IDENTIFIER "${room}/${td}" name)
  add_custom_target(tablegen_${name} DEPENDS ${TABLEGEN_OUTPUT})
  add_dependencies(${target} tablegen_${name})
endfunction()
