// The source that the precompiled header of HeddleMLIRHeaders.h is built for.
