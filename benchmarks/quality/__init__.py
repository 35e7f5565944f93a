"""Benchmarks of quality: does the memory make answers better, and does it keep apart what differs."""
