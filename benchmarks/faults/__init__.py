"""Faults in the middle of turns (errors, cancellations, kills, cut connections), and what is left after each.

Does not: measure time.
"""
