from .access import MemoryAccess as MemoryAccess, one_learner as one_learner
from .learn_tool import last_exchange as last_exchange, read_transcript as read_transcript
from .server import build_server as build_server
from .transports import http_app as http_app
