"""Work outside the graph: recorded, executed, judged, and cleaned up."""
