"""Online adaptation: test, then learn, one sample after the other in the order of the data.

Every sample is answered before anything is learned from it, so the accuracy of the first answers is unbiased,
and its curve over the steps shows what the memory is worth. The controls are measured on the same samples
afterwards. `ace_graph.training` reads the files and writes the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ace_graph.stores import policy_of
from ace_graph.training.journal import Accuracy, AdaptationResult, Journal, steps_of
from ace_graph.training.options import AdaptationOptions, preceding, with_model
from ace_graph.training.run_folder import describe, keep_playbook, open_journal
from ace_graph.training.runner import AdaptationRun, AdaptationStore, Trainer, measure_controls
from ace_graph.training.samples import Environment, Sample

PHASE = "online"


class OnlineAdapter:
    """Adapts a playbook while it is tested.

    adapted = await OnlineAdapter(environment).run(samples, out=Path("run"))
    """

    def __init__(self, environment: Environment, options: AdaptationOptions | None = None) -> None:
        self.environment = environment
        self.options = options or AdaptationOptions()

    async def run(
        self, samples: Sequence[Sample], *, out: Path | None = None, resume: bool = False
    ) -> AdaptationResult:
        """Run, or resume, an adaptation; with `out`, steps and the playbook are kept in that folder.

        Asked to stop, it returns with `finished` false. Raises UsageError for a folder that holds another
        run, EnvironmentFailed, ModelOutage, RunFolderError: all can be resumed; and ConfigurationErrors.
        """
        description = describe("online", self.environment, self.options, {"data": samples})
        journal = open_journal(out, description, resume=resume)
        try:
            return await self._run(samples, description, journal, out)
        finally:
            journal.close()

    async def _run(
        self, samples: Sequence[Sample], description: dict[str, object], journal: Journal, out: Path | None
    ) -> AdaptationResult:
        run = AdaptationRun(journal, self.options)
        memory = AdaptationStore(policy_of(self.options.settings))
        async with with_model(self.options) as options:
            trainer = Trainer(self.environment, options, memory)
            measured = await run.train(trainer, samples, range(len(samples)), PHASE, 0)
        keep_playbook(out, memory.playbook)
        controls: dict[str, Accuracy] = {}
        if not run.stopped:
            answered = steps_of(journal, PHASE, 0)
            before = preceding(answered, samples, self.options.context.retrieval_budget_tokens)
            controls = await measure_controls(run, self.environment, self.options, samples, before)
        phases = {(PHASE, 0): measured, **{(name, 0): each for name, each in controls.items()}}
        return AdaptationResult(
            kind="online",
            asked=description,
            finished=not run.stopped,
            playbook=memory.playbook,
            measured_on=PHASE,
            measured=measured,
            controls=controls,
            phases=phases,
            journal=journal,
        )
