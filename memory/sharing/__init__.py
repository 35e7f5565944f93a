"""Sharing of named playbooks: subjects, grants, rights, what leaves an owner, what others may change."""
