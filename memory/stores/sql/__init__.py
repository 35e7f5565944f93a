"""The store in an SQL database: one algorithm (store.py), a driver for SQLite and one for PostgreSQL."""
