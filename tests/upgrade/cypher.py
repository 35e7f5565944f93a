"""A whole Neo4j database as a plain Cypher script, and the statements of such a script.

    for line in script_of(session): ...                        # what is in the database, schema first
    for statement in statements(text): session.run(statement)  # into an empty one
    for statement in learner_only(text, "ada", "ada-17"): ...    # one learner, under another id

What hangs together is one CREATE with a line for each node and relationship. Does not: connect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from neo4j import Session
from neo4j.graph import Node, Relationship
from neo4j.time import DateTime

__all__ = ["learner_only", "script_of", "statements"]

_SCHEMA = (
    "SHOW CONSTRAINTS YIELD name, createStatement RETURN createStatement ORDER BY name",
    "SHOW INDEXES YIELD name, createStatement, owningConstraint, type WHERE owningConstraint IS NULL "
    "AND type <> 'LOOKUP' RETURN createStatement ORDER BY name",
)
_END = ";\n"


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a script."""
    return (statement for statement in text.split(_END) if statement)


def learner_only(text: str, learner: str, name: str) -> Iterator[str]:
    """Yield the statements that make one learner, whose id becomes `name`.

    The id stands alone, or it begins a key.
    """
    for statement in statements(text):
        if f"user_id: '{learner}'" in statement:
            yield statement.replace(f"'{learner}'", f"'{name}'").replace(f"'{learner}:", f"'{name}:")


def script_of(session: Session) -> Iterator[str]:
    """Yield the statements that make the database again, each with its end."""
    for query in _SCHEMA:
        for record in session.run(query):
            yield f"{record['createStatement']}{_END}"
    nodes = [record["n"] for record in session.run("MATCH (n) RETURN n")]
    links = [record["r"] for record in session.run("MATCH ()-[r]->() RETURN r")]
    for together in _components(sorted(nodes, key=_written), links):
        names = {node.element_id: f"n{place}" for place, node in enumerate(together)}
        parts = [f"({names[node.element_id]}{_written(node)})" for node in together]
        parts += [_link(link, names) for link in links if _ends(link)[0].element_id in names]
        yield f"CREATE {(',' + chr(10)).join(parts)}{_END}"


def _components(nodes: list[Node], links: list[Relationship]) -> Iterator[list[Node]]:
    """Yield the nodes that hang together."""
    group = {node.element_id: {node.element_id} for node in nodes}
    for link in links:
        begin, end = _ends(link)
        both = group[begin.element_id] | group[end.element_id]
        group |= dict.fromkeys(both, both)
    done = set[str]()
    for node in nodes:
        if node.element_id not in done:
            done |= group[node.element_id]
            yield [each for each in nodes if each.element_id in group[node.element_id]]


def _ends(link: Relationship) -> tuple[Node, Node]:
    return cast("tuple[Node, Node]", link.nodes)


def _link(link: Relationship, names: Mapping[str, str]) -> str:
    begin, end = _ends(link)
    fields = _fields(dict(link.items()))
    return f"({names[begin.element_id]})-[:{link.type}{fields}]->({names[end.element_id]})"


def _written(node: Node) -> str:
    return f":{':'.join(sorted(node.labels))}{_fields(dict(node.items()))}"


def _fields(found: Mapping[str, object]) -> str:
    inside = ", ".join(f"{name}: {_literal(value)}" for name, value in sorted(found.items()))
    return f" {{{inside}}}" if inside else ""


def _literal(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            quoted = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
            return f"'{quoted}'"
        case list():
            return f"[{', '.join(map(_literal, cast('list[object]', value)))}]"
        case DateTime():
            return f"datetime('{value.iso_format()}')"
        case _:
            raise TypeError(f"a property of the type {type(value).__name__}")
