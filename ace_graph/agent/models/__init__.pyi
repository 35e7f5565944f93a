from .call import (
    MAX_ATTEMPTS as MAX_ATTEMPTS,
    NOSTREAM as NOSTREAM,
    ChatRunnable as ChatRunnable,
    OnUsage as OnUsage,
    Usage as Usage,
    call_model as call_model,
    model_error as model_error,
    redacted as redacted,
    secrets_of as secrets_of,
    stream_model as stream_model,
    usage_of as usage_of,
)
from .factory import (
    ModelChoice as ModelChoice,
    choose_model as choose_model,
    close_model as close_model,
    make_model as make_model,
    name_of_model as name_of_model,
    open_model as open_model,
)
from .local import LocalModel as LocalModel, ModelCall as ModelCall
from .reply import (
    Schemas as Schemas,
    Structured as Structured,
    find_json_object as find_json_object,
    finish_problem as finish_problem,
    joined as joined,
    structured_call as structured_call,
)
