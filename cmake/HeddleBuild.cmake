# Settings of all targets of Heddle, for every configuration: the language, output folders, warnings, and the compiler
# cache and linker that make a rebuild quick.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC}) # programs and libraries share precompiled headers
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

# A release keeps its assertions: they cost nothing beside a kernel, and a wrong kernel costs days. LLVM's headers do not
# change their layout with NDEBUG (LLVM_ENABLE_ABI_BREAKING_CHECKS is a constant of the installed LLVM).
foreach(config RELEASE RELWITHDEBINFO)
  foreach(language C CXX)
    string(REPLACE "-DNDEBUG" "" flags "${CMAKE_${language}_FLAGS_${config}}")
    string(REPLACE "-O3" "-O2" CMAKE_${language}_FLAGS_${config} "${flags}")
  endforeach()
endforeach()

# With these settings the cache serves precompiled headers, and a second clone at another place; the preprocessor does not run
# a second time for it, which would add a third to the time of compiling a pass.
find_program(HEDDLE_CCACHE ccache)
mark_as_advanced(HEDDLE_CCACHE)
if(HEDDLE_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER OR CMAKE_${language}_COMPILER_LAUNCHER MATCHES "^[^;]*ccache$")
      set(CMAKE_${language}_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
          CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
          "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 "${HEDDLE_CCACHE}")
    endif()
  endforeach()
endif()

find_program(HEDDLE_LLD NAMES ld.lld)
mark_as_advanced(HEDDLE_LLD)
if(HEDDLE_LLD)
  add_link_options(-fuse-ld=lld)
endif()
add_link_options(LINKER:--as-needed)
if(HEDDLE_CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
endif()

# Linked by every library and tool of Heddle. The two include directories are the source root and the build root, so that
# a file is included by its path in the tree ("dialects/Heddle/Heddle.h") whether it was written or generated.
add_library(heddle_build INTERFACE)
target_include_directories(heddle_build INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
target_compile_options(heddle_build INTERFACE -Wall -Wextra -Wno-unused-parameter $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# clang warns where gcc does not: Debian 12's std::stable_sort uses a function that its own header calls deprecated, and
# aggregates may leave fields to their defaults.
target_compile_options(heddle_build INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations;SHELL:-Wno-missing-field-initializers>")
if(HEDDLE_WARNINGS_AS_ERRORS)
  target_compile_options(heddle_build INTERFACE -Werror)
endif()
if(HEDDLE_SANITIZE)
  target_compile_options(heddle_build INTERFACE -fsanitize=${HEDDLE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(heddle_build INTERFACE -fsanitize=${HEDDLE_SANITIZE})
endif()
