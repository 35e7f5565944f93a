"""Attacks on the memory, played through the real graph: what gets in, how far, and how bad that is."""
