"""Gives a new Neo4j server its first password over Bolt: set_password.py URI < file with the password.

The password (8 characters or more) is read from standard input, where no process list shows it.

A later change of the password needs the old one.
"""

# The driver's keyword options have no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import sys

from neo4j import GraphDatabase

FIRST = "neo4j"


def set_password(uri: str, password: str) -> None:
    """Replace the initial password of the user neo4j, then log in with the new one."""
    with GraphDatabase.driver(uri, auth=("neo4j", FIRST)) as driver:
        driver.execute_query(
            "ALTER CURRENT USER SET PASSWORD FROM $old TO $new", old=FIRST, new=password, database_="system"
        )
    with GraphDatabase.driver(uri, auth=("neo4j", password)) as driver:
        driver.verify_connectivity()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: set_password.py URI < file with the password")
    set_password(sys.argv[1], sys.stdin.readline().rstrip("\n"))
