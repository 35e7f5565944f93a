"""Reads a file of bullets on stdin with the code of version 0.1; prints them, or why 0.1 refuses it.

It is run as a process of its own. `data/v0_1/reader.zip` holds what importing a file needs of version 0.1, as
it was.

Does not: hold a test, or import anything of this version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("data") / "v0_1" / "reader.zip"))

from ace_graph.errors import AceError
from ace_graph.memory.formats.importing import as_playbook
from ace_graph.memory.formats.registry import read_playbook

try:
    found = as_playbook(read_playbook(sys.stdin.read()))
except AceError as error:
    sys.exit(str(error))
print(json.dumps([bullet.model_dump(mode="json") for bullet in found.bullets()]))
