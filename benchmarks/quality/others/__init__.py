"""This memory beside langmem and mem0: the same bullets, questions and word vectors, and no model."""
