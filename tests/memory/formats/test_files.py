"""From bytes to text: size, encoding, byte order marks."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from ace_graph.base import FormatError
from ace_graph.memory.formats import MAX_BYTES, read_bullets, read_stream, read_text


class _Endless(io.BytesIO):
    """A stream without an end, which counts what was taken of it."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size >= 0, "all of an endless stream was asked for"
        self.taken += size
        return b"-" * size


def test_the_byte_order_mark_of_a_file_is_removed(tmp_path: Path) -> None:
    for text in ("\ufeff- Draw it\r\n", '\ufeff{"bullets": [{"content": "Draw it"}]}'):
        (tmp_path / "x").write_text(text, encoding="utf-8", newline="")
        (bullet,) = read_bullets(read_text(tmp_path / "x")).bullets
        assert bullet.content == "Draw it"


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(FormatError, match="larger than 20 MB"):
        read_text(tmp_path / "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_is_refused_and_nobody_waits_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="not a regular file"):
        read_text(tmp_path / "pipe")


def test_an_endless_stream_ends_at_the_limit() -> None:
    stream = _Endless()
    with pytest.raises(FormatError, match="larger than 20 MB"):
        read_stream(stream)
    assert stream.taken == MAX_BYTES + 1


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"- caf\xe9\n", "UTF-8"),
        ("- x\n".encode("utf-16"), "UTF-16 text: save it as UTF-8"),
        (b"\xfe\xff\x00-", "UTF-16"),
        (b"- a\x00b\n", "zero bytes"),
        (b"- \xed\xa0\x80\n", "UTF-8"),
        (b"- \xc0\xaf\n", "UTF-8"),
    ],
)
def test_bytes_that_are_no_text_are_refused(raw: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        read_stream(io.BytesIO(raw))
