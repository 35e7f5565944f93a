from .adapters import (
    OfflineAdapter as OfflineAdapter,
    OnlineAdapter as OnlineAdapter,
    describe as describe,
    digest_of as digest_of,
    open_journal as open_journal,
)
from .evaluation import (
    Comparison as Comparison,
    Prices as Prices,
    Side as Side,
    compare as compare,
    report as report,
    write_results as write_results,
)
from .journal import (
    Accuracy as Accuracy,
    AdaptationResult as AdaptationResult,
    AdaptationStep as AdaptationStep,
    Epoch as Epoch,
    FileJournal as FileJournal,
)
from .options import (
    MAX_CHARS as MAX_CHARS,
    AdaptationOptions as AdaptationOptions,
    LastTranscripts as LastTranscripts,
    Progress as Progress,
)
from .runner import StepPosition as StepPosition, new_step as new_step
from .samples import (
    Environment as Environment,
    Outcome as Outcome,
    RowFile as RowFile,
    Sample as Sample,
    judge as judge,
)
from .scoring import (
    TASKS as TASKS,
    Task as Task,
    score_finer as score_finer,
    score_formula as score_formula,
    score_qa as score_qa,
    task_named as task_named,
)
from .statistics import (
    Gain as Gain,
    Paired as Paired,
    mcnemar as mcnemar,
    paired as paired,
    paired_gain as paired_gain,
    share_interval as share_interval,
    wilson as wilson,
)
