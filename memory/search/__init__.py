"""Text search: tokenizer, stop words, inverted index with BM25, prefix filter, token estimate."""
