"""How people see a bullet, computed from its fields on read: its kind, the confidence in it, strategies."""
