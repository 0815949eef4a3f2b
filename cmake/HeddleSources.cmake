# heddle_sources(<target> <file.cpp>... [<target> <file.cpp>...]...)
#
# Adds the sources of one room (one folder) to a library that spans several, or to several libraries. Sources are listed by
# hand, so that a file left out of its list is an error here and not an undefined symbol much later.
function(heddle_sources)
  file(GLOB present RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*.cpp")
  list(REMOVE_ITEM present ${ARGN})
  if(present)
    message(SEND_ERROR "not listed in ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt: ${present}")
  endif()
  foreach(argument ${ARGN})
    if(TARGET "${argument}")
      set(target "${argument}")
    else()
      target_sources(${target} PRIVATE "${argument}")
    endif()
  endforeach()
endfunction()
