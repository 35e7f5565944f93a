"""The store in an SQL database: one algorithm (store.py), a driver for SQLite and one for PostgreSQL."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
