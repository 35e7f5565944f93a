"""Mutation testing: how many small faults in the memory and in learning the tests would notice.

Does not: run in the gate; `make mutants` does it by hand.
"""
