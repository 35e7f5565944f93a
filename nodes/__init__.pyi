from .router import choose_mode as choose_mode
