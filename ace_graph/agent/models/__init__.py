"""Chat models: made from the settings, called with timeouts and retries, their replies checked.

Gemini by default, any LangChain chat model that is passed in or named by `ACE_MODEL=provider:name`, and the
offline tutor where no model is configured.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
