"""What is remembered: bullets, playbooks, deltas and the pure functions over them.

    resolve(snapshot, delta, policy) -> Effect     turns requests into facts
    apply(playbook, effect) -> Playbook            folds facts into the state

This package imports neither LangGraph nor LangChain, and does I/O in `stores/` only. Names are resolved when
they are used (PEP 562): who needs a bullet does not load what resolves deltas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
