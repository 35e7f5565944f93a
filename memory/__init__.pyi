from .arithmetic import (
    Expression as Expression,
    LEARNER as LEARNER,
    MAX_CHARS as MAX_CHARS,
    NoValue as NoValue,
    Number as Number,
    PROGRAM as PROGRAM,
    Symbol as Symbol,
    as_program as as_program,
    calculate as calculate,
    compute as compute,
    format_number as format_number,
    format_tree as format_tree,
    parse as parse,
)
from .bullet import (
    Bullet as Bullet,
    BulletSource as BulletSource,
    BulletTag as BulletTag,
    Danger as Danger,
    Hides as Hides,
    MAX_CONTENT_CHARS as MAX_CONTENT_CHARS,
    MAX_KEYWORDS as MAX_KEYWORDS,
    MEMORY_TYPES as MEMORY_TYPES,
    MemoryType as MemoryType,
    Polarity as Polarity,
    Stated as Stated,
    content_hash as content_hash,
)
from .catalogue import (
    Loaded as Loaded,
    PlaybookRef as PlaybookRef,
    WantedPlaybook as WantedPlaybook,
    checked_name as checked_name,
    name_key as name_key,
)
from .classify import infer_memory_type as infer_memory_type, infer_topic as infer_topic
from .commit import (
    Amend as Amend,
    Commit as Commit,
    CommitPlan as CommitPlan,
    History as History,
    HistoryEntry as HistoryEntry,
    Pending as Pending,
    PendingItem as PendingItem,
    begun_at as begun_at,
    check_age as check_age,
    check_expected as check_expected,
    check_not_forgotten as check_not_forgotten,
    commit_key as commit_key,
    operation_id as operation_id,
    plan as plan,
    playbook_at as playbook_at,
    references as references,
)
from .confidence import (
    EvidenceIndex as EvidenceIndex,
    Support as Support,
    effectiveness_of as effectiveness_of,
    metadata_of as metadata_of,
    turns_behind as turns_behind,
)
from .consolidation import (
    ConsolidationPlan as ConsolidationPlan,
    ConsolidationWork as ConsolidationWork,
    Figures as Figures,
    Options as Options,
    Outlook as Outlook,
    Question as Question,
    ended_run as ended_run,
    is_run as is_run,
    make_plan as make_plan,
    questions_of as questions_of,
    read_consolidation as read_consolidation,
    similar_groups as similar_groups,
    with_schedule as with_schedule,
)
from .decay import (
    Strengths as Strengths,
    base_strength as base_strength,
    decay_score as decay_score,
    mean_decay_score as mean_decay_score,
    memory_score as memory_score,
    strengths as strengths,
)
from .delta.effect import Effect as Effect, Report as Report, apply as apply
from .delta.operations import (
    Add as Add,
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
    Reset as Reset,
    Restore as Restore,
    Source as Source,
    Supersede as Supersede,
    Tag as Tag,
    Touch as Touch,
    Undo as Undo,
    Unpin as Unpin,
    Update as Update,
)
from .delta.resolve import resolve as resolve
from .dream import (
    Dream as Dream,
    DreamItem as DreamItem,
    LeftOut as LeftOut,
    check_items as check_items,
    dream_of as dream_of,
    supported as supported,
)
from .evidence import (
    EVIDENCE_SOURCES as EVIDENCE_SOURCES,
    Evidence as Evidence,
    EvidenceSource as EvidenceSource,
    Verdict as Verdict,
    tag_of as tag_of,
    verdict_of as verdict_of,
)
from .foreign import (
    as_foreign as as_foreign,
    foreign_prefix as foreign_prefix,
    is_foreign as is_foreign,
    read_only_bullets as read_only_bullets,
    source_of as source_of,
)
from .numbers import Form as Form, numerals as numerals, parse_number as parse_number
from .playbook import (
    BaseVotes as BaseVotes,
    Playbook as Playbook,
    PlaybookStats as PlaybookStats,
    RecentInsight as RecentInsight,
    Vote as Vote,
    mint_id as mint_id,
    wilson_interval as wilson_interval,
)
from .policy import DecayRates as DecayRates, Policy as Policy, VersionRetention as VersionRetention
from .record_retention import Cleaned as Cleaned, CleaningPlace as CleaningPlace, START as START
from .rights import Right as Right, right as right
from .serialization import (
    dump_access as dump_access,
    dump_effect as dump_effect,
    dump_playbook as dump_playbook,
    dump_record as dump_record,
    load_access as load_access,
    load_effect as load_effect,
    load_playbook as load_playbook,
    load_record as load_record,
    load_report as load_report,
)
from .sharing import (
    EDITOR as EDITOR,
    Grant as Grant,
    Relation as Relation,
    Subject as Subject,
    checked_relation as checked_relation,
    checked_team as checked_team,
    is_team as is_team,
    leaves_owner as leaves_owner,
    outgoing as outgoing,
    outgoing_bullet as outgoing_bullet,
    outgoing_snapshot as outgoing_snapshot,
    outgoing_text as outgoing_text,
    permitted as permitted,
    reported as reported,
    team_key as team_key,
)
from .snapshot import (
    Access as Access,
    ConsolidationNote as ConsolidationNote,
    Label as Label,
    Snapshot as Snapshot,
    Version as Version,
    touched as touched,
)
from .trajectory import (
    MAX_STEPS as MAX_STEPS,
    ScoreRule as ScoreRule,
    TrajectoryFilter as TrajectoryFilter,
    TrajectoryOutcome as TrajectoryOutcome,
    bounded_steps as bounded_steps,
    completed as completed,
    deleted as deleted,
    effective_score as effective_score,
    sampled as sampled,
    with_cost as with_cost,
    with_feedback as with_feedback,
    with_reflections as with_reflections,
    with_step as with_step,
)
from .trust import (
    GRACE as GRACE,
    Trial as Trial,
    arm_of as arm_of,
    lift as lift,
    pooled as pooled,
    proven as proven,
    share_withheld as share_withheld,
)
from .turn import (
    Arm as Arm,
    LearnedInto as LearnedInto,
    PlaybookRead as PlaybookRead,
    RecentTurn as RecentTurn,
    ReflectedLesson as ReflectedLesson,
    Step as Step,
    TurnFeedback as TurnFeedback,
    TurnRecord as TurnRecord,
    TurnReflection as TurnReflection,
    TurnStatus as TurnStatus,
    answer_hash as answer_hash,
)
from .usage import PlaybookUsage as PlaybookUsage, playbook_of as playbook_of
from .use_stamps import (
    DAYS_KEPT as DAYS_KEPT,
    QuestionTerms as QuestionTerms,
    after_questions as after_questions,
    asked_terms as asked_terms,
)
from .views import (
    BULLET_KINDS as BULLET_KINDS,
    BulletFilter as BulletFilter,
    CATEGORIES as CATEGORIES,
    Category as Category,
    KINDS as KINDS,
    StrategyEntry as StrategyEntry,
    add_of as add_of,
    checked_kind as checked_kind,
    content_of as content_of,
    diff as diff,
    fields_of as fields_of,
    kind_of as kind_of,
)
from .window import (
    adaptive_size as adaptive_size,
    interactions as interactions,
    select_window as select_window,
    truncate_tool_results as truncate_tool_results,
    window_metrics as window_metrics,
)
