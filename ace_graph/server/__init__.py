"""The web backend: `create_app` for your own ASGI server, `ace-graph serve` for ours.

    app = create_app(Settings.load(), Overrides(model=chat_model, store=store))
    mount_page(app, Settings.load())    # or the page alone, in a FastAPI application of yours

Needs the extra `server`. Names are imported when they are first used (PEP 562).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
