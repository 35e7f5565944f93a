"""Meaning: vectors of texts, and how near each bullet is to a question."""

from __future__ import annotations
