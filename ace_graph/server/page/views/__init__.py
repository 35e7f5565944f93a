"""One module for each view of the page: its routes, and what its template shows."""
