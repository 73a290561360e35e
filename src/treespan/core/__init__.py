"""The base of all other packages: compiling, random numbers, atomic operations, clocks, options, errors."""
