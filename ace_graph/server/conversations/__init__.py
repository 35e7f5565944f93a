"""Conversations and their turns in a database: SQLite or PostgreSQL."""
