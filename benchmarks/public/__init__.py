"""Public test sets, run without a model on files that the reader brings."""
