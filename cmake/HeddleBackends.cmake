# heddle_backends(<file> <name>...)
#
# Writes HEDDLE_BACKEND(<name>) for each name into <file>, to be included where all backends are needed. A list of backends is
# then written down in a single place, the CMakeLists.txt that also adds their folders.
function(heddle_backends file)
  list(TRANSFORM ARGN REPLACE "(.+)" "HEDDLE_BACKEND(\\1)\n" OUTPUT_VARIABLE lines)
  string(CONCAT text ${lines})
  file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
endfunction()
