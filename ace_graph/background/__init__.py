"""Learning outside the turn: the worker, its leases, and `learn_pending`."""
