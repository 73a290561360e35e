"""What every compiled part stands on: the decorator, random numbers, atomics, clocks, errors."""
