"""Benchmarks of the web backend: what it adds to an answer, over HTTP, beside a bare LangGraph graph.

    python -m benchmarks.server            some minutes; writes benchmarks/server/RESULTS.md
    python -m benchmarks.server --quick    about a minute; only prints

Every server is a process of its own, and so is every worker. All of them have the same model, a stub that
answers at once.

Tests never time, and these numbers never fail a build.
"""
