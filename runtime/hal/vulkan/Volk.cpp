// The one translation unit that holds volk's function pointers and its loader of libvulkan.so.1.
#define VOLK_IMPLEMENTATION
#include <volk.h>
