"""Learning: from a finished turn to a delta, by evidence, reflector, curator and patterns."""
