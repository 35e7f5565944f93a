"""Attacks on the memory, played through the real graph: what gets in, how far, and how bad that is.

Does not: measure how well a model resists. The models here believe whatever they read.
"""
