"""The label of a version for people: `major.minor`, beside the number that counts every change.

The first content is 1.0. Replacing or rolling back a playbook raises the major number, any other change the
minor one. An amendment changes the content and keeps the label.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Label", "stored_label"]


class Label(NamedTuple):
    """Prints as `2.5`. A playbook without any content yet has 0.0."""

    major: int = 0
    minor: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    def after(self, *, replaced: bool) -> Label:
        """Return the label of the version after this one; `replaced`: it does not build on this one."""
        if replaced or not self.major:
            return Label(self.major + 1, 0)
        return Label(self.major, self.minor + 1)


def stored_label(n: int, major: int | None, minor: int | None) -> Label:
    """Return a label as it is stored; versions of 0.1 have none and are counted on as 1.0, 1.1, 1.2, ..."""
    if major is None or minor is None:
        return Label(1, n - 1) if n else Label()
    return Label(major, minor)
