"""The readers of playbooks as files: every format, and the text within each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from ace_graph.memory.formats.files import WHOLE, MemoryFile, edit_of, section_of
from ace_graph.memory.formats.registry import FORMATS, read_playbook
from ace_graph.memory.playbook import Playbook
from benchmarks.readers.reader import Reader, refused

__all__ = ["readers_of_files"]

_DOCUMENTS = {
    "skill": "---\nname: x\ndescription: y\n---\n- a\n{}",
    "front matter": "---\nname: x\ndescription: {}\n---\n- a\n",
    "agents": "<!-- ace-graph:begin -->\n- a\n{}\n<!-- ace-graph:end -->",
}


def readers_of_files() -> Iterator[Reader]:
    """Yield every format of a playbook as a file, and the text within each."""
    for each in FORMATS:
        read = refused(partial(read_playbook, name=each.name))
        yield Reader(f"format {each.name}", read, (type(each).__module__,))
    yield Reader("format detected", refused(read_playbook), ("ace_graph.memory.formats.lines",))

    def bullets(text: str) -> object:
        return read_playbook(json.dumps({"bullets": [{"id": "b-1", "section": text, "content": text}]}))

    for name, around in _DOCUMENTS.items():
        read = refused(lambda text, around=around: read_playbook(around.replace("{}", text)))
        yield Reader(f"inside {name}", read, ("ace_graph.memory.formats.markdown",))
    edit = refused(lambda text: (edit_of(MemoryFile(WHOLE), text, Playbook()), section_of(text)))
    yield Reader("an edited file of the memory", edit, ("ace_graph.memory.formats.files",))
    yield Reader("a bullet in a file", refused(bullets), ("ace_graph.memory.formats.reading",))
