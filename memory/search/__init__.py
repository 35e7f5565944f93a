"""Finding words: tokenizer, stop words, BM25 index, prefix filter, token estimate."""
