from . import cleaning as cleaning, export as export, history as history, pending as pending
from .backend import (
    Backend as Backend,
    Job as Job,
    KEYS as KEYS,
    Namespace as Namespace,
    Row as Row,
    Rows as Rows,
    SHARED as SHARED,
    Where as Where,
    result_of as result_of,
)
from .base import (
    DrawsGraph as DrawsGraph,
    GraphLag as GraphLag,
    LearnerExport as LearnerExport,
    StoredVersion as StoredVersion,
    TIMEOUT as TIMEOUT,
    Timeouts as Timeouts,
    VectorChange as VectorChange,
    checked_learner_id as checked_learner_id,
    random_token as random_token,
)
from .cache import SnapshotCache as SnapshotCache
from .commit import commit_once as commit_once
from .commit_queue import (
    CommitQueue as CommitQueue,
    CommitRequest as CommitRequest,
    SerializedPlan as SerializedPlan,
)
from .history import turns_wanted as turns_wanted
from .memories import (
    Unsaved as Unsaved,
    commit_unsaved as commit_unsaved,
    trajectories_behind as trajectories_behind,
)
from .snapshot_and_log import (
    EMPTY_BASE as EMPTY_BASE,
    NO_STAMPS as NO_STAMPS,
    Sizes as Sizes,
    StateHead as StateHead,
    StoredBase as StoredBase,
    StoredEffect as StoredEffect,
    StoredStamps as StoredStamps,
    StoredState as StoredState,
    StoredTouches as StoredTouches,
    base_checksum as base_checksum,
    broken_version as broken_version,
    dump_base as dump_base,
    load_base as load_base,
    load_small_access as load_small_access,
)
from .states import HEAD_COLUMNS as HEAD_COLUMNS
from .store import KeyedStore as KeyedStore, PlaybookStore as PlaybookStore, Store as Store
from .whole import (
    CONVERSATIONS_AND_END as CONVERSATIONS_AND_END,
    WholeMemory as WholeMemory,
    WholeTurn as WholeTurn,
    memory_pieces as memory_pieces,
)
