"""What may not reach a prompt: prompt injection, secrets, links; `screen` is the one entry."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
