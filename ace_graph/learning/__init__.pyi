from .batch_reflection import (
    BatchReflection as BatchReflection,
    NotEnough as NotEnough,
    batch_reflect as batch_reflect,
)
from .cleaning import (
    INTERVAL_SECONDS as INTERVAL_SECONDS,
    PeriodicJob as PeriodicJob,
    clean_learners as clean_learners,
    memory_cleaning as memory_cleaning,
    run_jobs as run_jobs,
    trim_trajectories as trim_trajectories,
)
from .consolidation_writer import model_writer as model_writer
from .curate_reflections import (
    BulletText as BulletText,
    CuratedReflections as CuratedReflections,
    OutdatedBullet as OutdatedBullet,
    MAX_REFLECTIONS as MAX_REFLECTIONS,
    curate as curate,
)
from .curator import UNATTRIBUTED as UNATTRIBUTED, judge_bullets as judge_bullets
from .dreaming import (
    DecidedDream as DecidedDream,
    accept_dream as accept_dream,
    dream as dream,
    last_dream as last_dream,
    refuse_dream as refuse_dream,
)
from .execution import (
    RunningTrajectory as RunningTrajectory,
    TaskEvent as TaskEvent,
    TaskHook as TaskHook,
    TaskResult as TaskResult,
    execute_with_learning as execute_with_learning,
)
from .feedback import (
    JudgedExchange as JudgedExchange,
    JudgedTurn as JudgedTurn,
    ObjectionCheck as ObjectionCheck,
    check_objection as check_objection,
    doubts as doubts,
    find_doubted_turn as find_doubted_turn,
    find_judged_turn as find_judged_turn,
    read_feedback as read_feedback,
)
from .graph_drawing import (
    draw_afresh as draw_afresh,
    draw_changes as draw_changes,
    graph_drawing as graph_drawing,
    hides as hides,
)
from .llm_curator import (
    Curation as Curation,
    MOST_PROPOSALS as MOST_PROPOSALS,
    SMALL_BULLETS as SMALL_BULLETS,
    curate_with_model as curate_with_model,
    decide as decide,
)
from .pending import (
    ItemOutcome as ItemOutcome,
    Lease as Lease,
    RetryPolicy as RetryPolicy,
    process_item as process_item,
)
from .pipeline import ace_delta as ace_delta
from .recurring_patterns import extract_patterns as extract_patterns
from .reflection import (
    BulletVerdict as BulletVerdict,
    LearnerFact as LearnerFact,
    Lesson as Lesson,
    Reflection as Reflection,
    copies as copies,
    is_platitude as is_platitude,
    says_nothing as says_nothing,
)
from .reflector import ReflectionResult as ReflectionResult
from .tasks import (
    FinishedTurn as FinishedTurn,
    LearningTask as LearningTask,
    PendingWork as PendingWork,
    Revision as Revision,
    TEXT_CHARS as TEXT_CHARS,
    read_work as read_work,
    task_of as task_of,
)
from .patterns import (
    ExecutionReflector as ExecutionReflector,
    PATTERN_RULES as PATTERN_RULES,
    PatternRule as PatternRule,
    SequenceOutcome as SequenceOutcome,
    TOOL_KINDS as TOOL_KINDS,
    ToolCallRecord as ToolCallRecord,
)
from .trajectories import (
    Completion as Completion,
    complete_trajectory as complete_trajectory,
    delete_trajectory as delete_trajectory,
    get_trajectory as get_trajectory,
    log_step as log_step,
    periods_of as periods_of,
    start_trajectory as start_trajectory,
    take_back as take_back,
)
from .trajectory_feedback import give_feedback as give_feedback, reflect_on as reflect_on
from .transcripts import (
    ImportedTranscript as ImportedTranscript,
    import_transcript as import_transcript,
    learner_by as learner_by,
)
from .turn_record import describe_attachments as describe_attachments, stored_reflection as stored_reflection
from .worker import (
    ExpectedWork as ExpectedWork,
    Worker as Worker,
    build_worker as build_worker,
    learn_pending as learn_pending,
    learning_resources as learning_resources,
)
