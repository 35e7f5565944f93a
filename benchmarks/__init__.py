"""Benchmarks: what the memory, the stores and a whole turn cost, measured side by side in one run.

    python -m benchmarks            a few minutes; writes benchmarks/RESULTS.md
    python -m benchmarks --quick    under a minute; small sizes, only prints

Does not: test anything. Tests never time, and these numbers never fail a build.
"""
