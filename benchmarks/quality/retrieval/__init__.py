"""Retrieval: is what a question needs in its prompt, and is nothing there for a question that needs nothing.

learners/*.txt    hand-written playbooks of learners, each with questions
"""
