from .add_merge_or_replace import contests as contests, repeats as repeats, shared_subject as shared_subject
from .archive import PLAYBOOK_FULL as PLAYBOOK_FULL
from .effect import (
    Archived as Archived,
    Effect as Effect,
    Merged as Merged,
    Pruned as Pruned,
    Rejection as Rejection,
    Report as Report,
    apply as apply,
)
from .merge import choose_survivor as choose_survivor, with_keywords_of as with_keywords_of
from .operations import (
    Add as Add,
    Analyze as Analyze,
    Consolidate as Consolidate,
    Delta as Delta,
    Distinguish as Distinguish,
    Judge as Judge,
    Merge as Merge,
    Operation as Operation,
    Pin as Pin,
    Quarantine as Quarantine,
    Reflect as Reflect,
    Release as Release,
    Remove as Remove,
    Rescreen as Rescreen,
    Reset as Reset,
    Restore as Restore,
    Rollback as Rollback,
    Source as Source,
    Supersede as Supersede,
    Tag as Tag,
    Touch as Touch,
    Undo as Undo,
    Unpin as Unpin,
    Update as Update,
)
from .rollback import (
    archived as archived,
    restore_of as restore_of,
    rollback_to as rollback_to,
    undo_of as undo_of,
)
from .screening import screen_bullet as screen_bullet
