"""A playbook's file as text: at most 20 MB of UTF-8, whoever wrote it and on whatever system.

Does not: know what is in it.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import BinaryIO

from ace_graph.errors import FormatError

__all__ = ["MAX_BYTES", "read_stream", "read_text"]

MAX_BYTES = 20_000_000
"""Twice what 10,000 bullets take as JSON; reading and judging a file of this size takes 1 GB at worst."""

_OTHER_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16", codecs.BOM_UTF32_BE: "UTF-32"}


def read_text(path: Path) -> str:
    """Return the text of a file, without its byte order mark. Raises FormatError, OSError."""
    with path.open("rb") as file:
        return read_stream(file)


def read_stream(stream: BinaryIO) -> str:
    """Return the text that is left in a stream. Raises FormatError; no more than the limit is ever read."""
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise FormatError(f"it is larger than {MAX_BYTES // 1_000_000} MB: split it")
    for mark, encoding in _OTHER_MARKS.items():
        if raw.startswith(mark):
            raise FormatError(f"it is {encoding} text: save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"it is no UTF-8 text ({error.reason} at byte {error.start})") from error
    if "\0" in text:
        raise FormatError("it is no text: it holds zero bytes")
    return text
