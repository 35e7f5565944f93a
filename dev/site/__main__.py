"""Builds the documentation site: `python -m dev.site [--out build/site] [--run-notebooks]`.

It writes three things into the folder `out`: the pages as Markdown (`pages`), the generator's configuration
(`zensical.toml`), and the site itself (`html`), which any web server can serve. Exit 1 where a link leads
nowhere, a page is not in the navigation, a diagram has no picture, a notebook fails, or the generator warns.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from dev.site.configuration import write_configuration
from dev.site.navigation import navigation_of
from dev.site.notebooks import write_notebooks
from dev.site.pages import ROOT, SiteError, write_pages
from dev.site.reading_lists import write_reading_lists
from dev.site.reference import write_reference


def build(out: Path, *, run_notebooks: bool) -> Path:
    """Build the site in `out` and return the folder with its HTML.

    Raises:
        SiteError: something on a page is wrong; the message names the page.
        CellExecutionError: a cell of a notebook failed.
    """
    if out.exists():
        shutil.rmtree(out)
    pages = out / "pages"
    sources = write_pages(pages)
    write_notebooks(pages / "notebooks", run=run_notebooks)
    reference = write_reference(pages / "reference")
    navigation = navigation_of(sources, reference)
    write_configuration(out / "zensical.toml", navigation)
    generate(out)
    write_reading_lists(out / "html", pages, navigation)
    return out / "html"


def generate(out: Path) -> None:
    """Run the generator on `out`; every warning of it is an error."""
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run(  # noqa: S603 - fixed arguments
        [str(program), "build", "--strict", "--clean"],
        cwd=out,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SiteError(f"the generator found errors:\n{done.stdout}")


def main() -> int:
    """Build the site as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--run-notebooks", action="store_true", help="show the notebooks with their outputs")
    options = parser.parse_args()
    try:
        html = build(options.out.resolve(), run_notebooks=options.run_notebooks)
    except SiteError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{html}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
