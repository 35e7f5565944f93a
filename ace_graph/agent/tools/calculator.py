"""The calculator: exact arithmetic on what a model writes, bounded in size and time.

Values are fractions, so 0.1 + 0.2 is 0.3. The tool never raises: whatever is wrong comes back as a text
that starts with "Error:", from which a model can see what to write instead.
"""

from __future__ import annotations

from langchain_core.tools import BaseTool, StructuredTool

from ace_graph.memory.arithmetic import calculate

calculator: BaseTool = StructuredTool.from_function(
    calculate,
    name="calculator",
    description=(
        "Calculate an arithmetic expression exactly, such as 12*5 or (1/2 + 1/3) * 6. "
        "Knows numbers, brackets and + - * / // % **."
    ),
    handle_validation_error='Error: call the calculator with one text, such as {"expression": "12*5"}.',
    metadata={"idempotent": True},
)
"""The tool of that name, for LangChain."""
