"""The HTTP routes, one file for each resource."""
