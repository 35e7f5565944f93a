from .anthropic_memory import (
    MemoryTool as MemoryTool,
    MemoryToolError as MemoryToolError,
    as_anthropic_tool as as_anthropic_tool,
)
from .deepagents_backend import PlaybookBackend as PlaybookBackend
from .functions import build_memory as build_memory, learn as learn, recall as recall
from .memory_files import MemoryFiles as MemoryFiles, Saved as Saved
from .turn import Answered as Answered, Recall as Recall
