"""Benchmarks: what the memory, the stores and a whole turn cost, measured side by side in one run.

    python -m benchmarks            a few minutes; writes benchmarks/RESULTS.md
    python -m benchmarks --quick    under a minute; small sizes, only prints

Tests never time, and these numbers never fail a build.
"""
