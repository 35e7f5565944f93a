"""Faults within turns (errors, cancellations, kills, cut connections), and what is left after each."""
