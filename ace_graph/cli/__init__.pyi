from .chat import ask_while_opening as ask_while_opening
from .command import Call as Call, CommandGroup as CommandGroup
from .conversation import ChatLoop as ChatLoop
from .environment import (
    install_logging as install_logging,
    log_content_by_default as log_content_by_default,
    log_level as log_level,
)
from .main import app as app
from .run import parse_request as parse_request
from .store import copy as copy
from .terminal import WordWrap as WordWrap
