"""Changes of a playbook: a delta of operations is resolved into an effect, and effects fold into a state."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
