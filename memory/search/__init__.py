"""Text search: tokenizer, stop words, inverted index with BM25, prefix filter, token estimate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
