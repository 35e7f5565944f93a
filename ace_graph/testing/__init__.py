"""Test doubles for the tests of this project and of programs that use it.

Names are imported when they are first used, so that the store conformance suite does not load a chat model.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
