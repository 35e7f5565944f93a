"""A memory with runs that suggest an addition, a merge and an archiving.

Does not: hold a test.
"""

from __future__ import annotations

from ace_graph.memory.delta import Reset
from ace_graph.memory.stores import Store
from ace_graph.testing.conformance import record, rewriting, touching, write
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.learning.reflected_runs import add_run

__all__ = ["HARMFUL", "LEARNER", "PAGES", "live"]

LEARNER = "bot"
PAGES = "Ask the invoice service for ten pages at once"
WORDED = "Always ask the Invoice Service for ten pages at once."
HARMFUL = "Guess the total when a page is missing"


async def live(store: Store, learner: str = LEARNER) -> None:
    """Plant three bullets that say the same, two others and a harmful one; five runs and two other turns."""
    harmful = bullets(HARMFUL, harmful=2)[0].model_copy(update={"id": "gen-00009"})
    await write(store, learner, rewriting(Reset(bullets=(*bullets(*PARAPHRASES, *OTHERS), harmful))))
    for n, lesson in enumerate((PAGES, PAGES, WORDED, "Read the log of the printer", "Cache the schema")):
        await add_run(store, learner, f"run-{n}", lesson, minute=n)
    asked = (
        ("How do I check the rate limit of the API?", "gen-00001"),
        ("Draw a bar for the pages of an invoice", "gen-00004"),
    )
    for n, (task, cited) in enumerate(asked, 10):
        turn = record(n, turn_id=f"turn-{n}").model_copy(update={"task": task, "cited": (cited,)})
        await write(store, learner, touching(), turn)
