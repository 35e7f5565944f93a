"""Work outside the graph: recorded, executed and judged."""
