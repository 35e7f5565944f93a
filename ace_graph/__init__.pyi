from .agent.context import ACEContext as ACEContext
from .agent.retriever import PlaybookRetriever as PlaybookRetriever, PlaybookStoreView as PlaybookStoreView
from .agent.state import ACEInput as ACEInput, ACEOutput as ACEOutput
from .base.errors import AceError as AceError
from .base.settings import Settings as Settings
from .graph import ACEGraph as ACEGraph, build_ace_graph as build_ace_graph, make_graph as make_graph
from .learning.batch_reflection import batch_reflect as batch_reflect
from .learning.curate_reflections import curate as curate
from .learning.execution import TaskResult as TaskResult, execute_with_learning as execute_with_learning
from .learning.recurring_patterns import extract_patterns as extract_patterns
from .learning.trajectories import (
    Completion as Completion,
    complete_trajectory as complete_trajectory,
    log_step as log_step,
    start_trajectory as start_trajectory,
)
from .learning.trajectory_feedback import give_feedback as give_feedback
from .learning.worker import (
    PendingOutcome as PendingOutcome,
    Worker as Worker,
    build_worker as build_worker,
    learn_pending as learn_pending,
)
from .memory.bullet import Bullet as Bullet
from .memory.delta.effect import Effect as Effect, apply as apply
from .memory.delta.operations import Delta as Delta
from .memory.delta.resolve import resolve as resolve
from .memory.evidence import Evidence as Evidence
from .memory.playbook import Playbook as Playbook
from .memory.policy import Policy as Policy
from .memory.stores.memories import commit_unsaved as commit_unsaved
from .memory.stores.store import Store as Store
from .memory.turn import TurnRecord as TurnRecord
from .playbooks.memories import memories as memories, remember as remember, search_memories as search_memories
from .stores import open_store as open_store

__all__: list[str]
