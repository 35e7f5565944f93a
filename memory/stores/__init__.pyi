from .base import (
    ContentStore as ContentStore,
    DrawsGraph as DrawsGraph,
    GraphLag as GraphLag,
    KeyedStore as KeyedStore,
    LearnerExport as LearnerExport,
    Store as Store,
    StoredVersion as StoredVersion,
    TIMEOUT as TIMEOUT,
    Timeouts as Timeouts,
    VectorChange as VectorChange,
    checked_learner_id as checked_learner_id,
    random_token as random_token,
)
from .cache import SnapshotCache as SnapshotCache
from .commit_queue import CommitRequest as CommitRequest, SerializedPlan as SerializedPlan
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
from .whole import (
    CONVERSATIONS_AND_END as CONVERSATIONS_AND_END,
    WholeMemory as WholeMemory,
    WholeTurn as WholeTurn,
    memory_pieces as memory_pieces,
)
