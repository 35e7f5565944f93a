"""Turns under way: started, followed, taken over after a crash."""
