from .app import create_app as create_app
from .auth import (
    Act as Act,
    Authenticator as Authenticator,
    Identity as Identity,
    operator_may as operator_may,
)
from .connection_limits import (
    HEAD_SECONDS as HEAD_SECONDS,
    SocketLimits as SocketLimits,
    bounded_protocol as bounded_protocol,
    socket_limits as socket_limits,
)
from .errors import RequestIds as RequestIds
from .metrics import exported_spans as exported_spans
from .page.mount import mount_page as mount_page
from .rate_limit import BYTES_PER_TOKEN as BYTES_PER_TOKEN
from .schemas import (
    ChatRequest as ChatRequest,
    Learned as Learned,
    Metadata as Metadata,
    Scratch as Scratch,
    reply_of as reply_of,
)
from .services import Overrides as Overrides, Services as Services
from .turns import LiveTurn as LiveTurn, TurnWork as TurnWork, run_turn as run_turn
