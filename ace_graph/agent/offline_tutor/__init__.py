"""The offline tutor: a rule-based chat model that needs no key and no network."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
