"""The label of a version for people: `major.minor`, beside the number that counts every change.

The first content is 1.0. Replacing or rolling back a playbook raises the major number, any other change the
minor one. An amendment changes the content and keeps the label.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Label"]


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
