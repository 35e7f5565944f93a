"""The commands `ace-graph neo4j ...`: what only the shared store has."""

from __future__ import annotations

import typer

from ace_graph.cli.options import DEFAULT_LEARNER, Learner, StoreUrl

__all__ = ["neo4j"]

neo4j = typer.Typer(no_args_is_help=True, help="What only a Neo4j store has.")


@neo4j.callback()
def group() -> None:
    """Keep `project` a command of a group, although it is the only one yet."""


@neo4j.command()
def project(learner: Learner = DEFAULT_LEARNER, store: StoreUrl = None) -> None:
    """Draw a learner's bullets as nodes, to look at in Neo4j Browser; replaces the drawing before.

    \b
    ace-graph neo4j project --learner ada
    MATCH (:User {id: "ada"})-[:HAS_ACE_MEMORY]->()-[:HAS_BULLET]->(b) RETURN b
    """
    from ace_graph.cli.store_access import on_store
    from ace_graph.cli.terminal import counted
    from ace_graph.errors import StoreUrlError
    from ace_graph.memory.stores.base import Store

    async def job(opened: Store) -> int:
        from ace_graph.memory.stores.neo4j.projection import project as draw
        from ace_graph.memory.stores.neo4j.store import Neo4jStore

        if not isinstance(opened, Neo4jStore):
            raise StoreUrlError(
                f"bullets are drawn in Neo4j only, and the store is {opened.name}: "
                "set NEO4J_URI, or pass --store neo4j://host:7687"
            )
        return await draw(opened, learner)

    drawn = counted(on_store(store, job), "bullet")
    print(f"{drawn} drawn as nodes: look at them in Neo4j Browser.")
