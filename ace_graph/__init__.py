"""ace_graph: a LangGraph agent that gets better at helping each learner.

    from ace_graph import ACEContext, build_ace_graph, open_store

Names are resolved when they are used (PEP 562), so importing this package costs nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
