"""What every rank speaks: its queues and messages, the evaluation of a leaf, and points where a scheme adds to it."""
