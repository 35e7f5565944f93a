"""Whether two bullets claim the same; `compare` is the one entry."""
