"""The program that makes the mutants, in the copy: `python -m benchmarks.mutants.make_mutants CHILDREN`."""

from __future__ import annotations

import sys
from pathlib import Path

from mutmut.__main__ import create_mutants
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, setup_source_paths


def main(children: int) -> None:
    """Write the code with all mutants in it into the folder `mutants`, and their names beside it."""
    set_mutant_under_test("mutant_generation")
    Path("mutants").mkdir(exist_ok=True)
    copy_src_dir()
    copy_also_copy_files()
    setup_source_paths()
    create_mutants(children)


if __name__ == "__main__":
    main(int(sys.argv[1]))
