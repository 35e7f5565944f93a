"""Mutation testing: how many small faults in the memory and in learning the tests would notice."""
