"""What offline and online adaptation share: samples, steps, the journal, practice and frozen measuring.

Does not: decide the order of things; learning/offline.py and learning/online.py do.
"""

from __future__ import annotations
