# Helpers of test/CMakeLists.txt. Labels: unit, lit, conformance, end-to-end. Tests with the label `long` are left out of the gate and
# run by `tools/test.sh --long`; those of HEDDLE_QUICK have the label `quick`.

# HEDDLE_HAVE_TESTS says whether all that the tests need is installed. They are no part of the target `all`:
# cmake --build --preset tests
find_package(GTest QUIET)
find_package(rapidcheck QUIET)
find_program(HEDDLE_SPIRV_AS spirv-as)
mark_as_advanced(HEDDLE_SPIRV_AS)
set(HEDDLE_HAVE_TESTS OFF)
if(GTest_FOUND AND rapidcheck_FOUND AND HEDDLE_SPIRV_AS)
  set(HEDDLE_HAVE_TESTS ON)
else()
  message(STATUS "No tests: GoogleTest, RapidCheck or spirv-as is missing; tools/setup.sh --tests installs them")
endif()

# Tests are compiled without optimisation, which would be a third of the time of the whole build; what they test is not.
add_library(heddle_unoptimised INTERFACE)
target_compile_options(heddle_unoptimised INTERFACE $<$<CONFIG:Release>:-O0>)

# heddle_unit_test(<name> <file.cpp>... [LIBRARIES <target>...] [LABELS <label>...] [TIMEOUT <seconds>] [COST <seconds>])
#
# One GoogleTest program, run as one test.
function(heddle_unit_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT;COST" "LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${TEST_UNPARSED_ARGUMENTS})
  if("${TEST_LIBRARIES}" MATCHES "Heddle[A-Z]|heddle_compile")
    heddle_precompile(${name} Compiler)
  else()
    target_link_libraries(${name} PRIVATE heddle_unoptimised)
    heddle_precompile(${name} Tests)
  endif()
  target_link_libraries(${name} PRIVATE heddle_build ${TEST_LIBRARIES} GTest::gtest_main)
  if(HEDDLE_SANITIZE)
    target_compile_definitions(${name} PRIVATE HEDDLE_SANITIZERS)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/bin")
  add_test(NAME ${name} COMMAND ${name})
  heddle_test_properties(${name} LABELS unit ${TEST_LABELS} TIMEOUT "${TEST_TIMEOUT}" COST "${TEST_COST}")
endfunction()

# heddle_test_properties(<test> LABELS <label>... [TIMEOUT <seconds>] [COST <seconds>])
#
# Every test runs Vulkan under its validation layers, and with one thread: tests run side by side. COST is what it takes; ctest begins
# with the longest. Exit code 77 says "skipped".
function(heddle_test_properties name)
  cmake_parse_arguments(TEST "" "TIMEOUT;COST" "LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  if(NOT TEST_COST)
    set(TEST_COST 1)
  endif()
  if(name IN_LIST HEDDLE_QUICK)
    list(APPEND TEST_LABELS quick)
  endif()
  # A test that names no target compiles for the processor: lavapipe would compile the kernels again in each process. On x86-64 the target
  # is x86-64-v3, as nobody has run x86-64-v4 yet.
  set(target native)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(target cpu:x86-64-v3)
  endif()
  # Threads of the runtime and of the emulated CUDA driver, of lavapipe, and of PyTorch. lavapipe's compiler takes most of a small test's
  # time: without its optimisations two thirds of it.
  set(environment HEDDLE_TARGET=${target} HEDDLE_VALIDATION=1 HEDDLE_THREADS=1 LP_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 GALLIVM_PERF=nopt)
  if(HEDDLE_SANITIZE)
    # Mesa's driver frees little before the process ends.
    list(APPEND environment ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT} COST ${TEST_COST} SKIP_RETURN_CODE 77
    ENVIRONMENT "${environment}")
endfunction()

# heddle_two_forms(<name> COMMAND <word>... LABELS <label>... [COST <seconds>] [LONG_COST <seconds>])
#
# A test whose script has a short form, which the gate runs, and the whole, which runs with HEDDLE_LONG=1 as the test <name>-long.
function(heddle_two_forms name)
  cmake_parse_arguments(TEST "" "COST;LONG_COST" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${TEST_COMMAND})
  heddle_test_properties(${name} LABELS ${TEST_LABELS} TIMEOUT 900 COST "${TEST_COST}")
  add_test(NAME ${name}-long COMMAND ${TEST_COMMAND})
  heddle_test_properties(${name}-long LABELS ${TEST_LABELS} long TIMEOUT 1800 COST "${TEST_LONG_COST}")
  set_property(TEST ${name}-long APPEND PROPERTY ENVIRONMENT HEDDLE_LONG=1)
endfunction()

# heddle_on_cuda_emulator(<test>...)
#
# Lets registered tests find a CUDA device on any machine: the one that the software driver of test/cuda/emulator has.
function(heddle_on_cuda_emulator)
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:heddle_cuda_emulator>")
  endforeach()
endfunction()
