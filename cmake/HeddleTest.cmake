# Helpers of test/CMakeLists.txt. Labels: unit, lit, conformance, end-to-end; and `slow` for what takes over 30 seconds.

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

# heddle_unit_test(<name> <file.cpp>... [LIBRARIES <target>...] [LABELS <label>...] [TIMEOUT <seconds>])
#
# One GoogleTest program, run as one test.
function(heddle_unit_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${TEST_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE heddle_build ${TEST_LIBRARIES} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/bin")
  add_test(NAME ${name} COMMAND ${name})
  heddle_test_properties(${name} LABELS unit ${TEST_LABELS} TIMEOUT "${TEST_TIMEOUT}")
endfunction()

# heddle_test_properties(<test> LABELS <label>... [TIMEOUT <seconds>])
#
# Every test runs Vulkan under its validation layers; exit code 77 says "skipped".
function(heddle_test_properties name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  set(environment HEDDLE_VALIDATION=1)
  if(HEDDLE_SANITIZE)
    # Mesa's driver frees little before the process ends.
    list(APPEND environment ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "${environment}")
endfunction()

# heddle_on_cuda_emulator(<test>...)
#
# Lets registered tests find a CUDA device on any machine: the one that the software driver of test/cuda/emulator has.
function(heddle_on_cuda_emulator)
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:heddle_cuda_emulator>")
  endforeach()
endfunction()
