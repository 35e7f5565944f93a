"""What a learner's own message asks to remember, to change or to forget."""
