// The source that each precompiled header of this folder is built for.
