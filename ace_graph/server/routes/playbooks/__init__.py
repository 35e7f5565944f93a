"""The HTTP routes of playbooks: the own memory, named ones, and those that are shared."""
