from .gemini_server import GeminiRequest as GeminiRequest, GeminiServer as GeminiServer
from .invariants import check as check, problems as problems
from .scripted_model import (
    BrokenStream as BrokenStream,
    Reply as Reply,
    ScriptedModel as ScriptedModel,
    UnexpectedModelCall as UnexpectedModelCall,
)
