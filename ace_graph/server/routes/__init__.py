"""The HTTP routes, one file for each resource, and a folder for those of playbooks."""
