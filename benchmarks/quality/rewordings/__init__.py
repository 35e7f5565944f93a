"""Rewordings that say the same, and near misses that do not."""
