"""Deletes what is stored and old: traces, turn records and deltas, of one learner or of all."""
