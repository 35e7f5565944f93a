"""Offline and online adaptation: the playbook learns from samples of your own, and is measured.

from ace_graph.training import OfflineAdapter, OnlineAdapter, Sample
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
