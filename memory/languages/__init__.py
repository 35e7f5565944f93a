"""Tables of words by language: a folder for each language, the same files in each."""

from __future__ import annotations
