"""Consolidation: which bullets could be one, what of them must not be lost, and how it is taken back."""
