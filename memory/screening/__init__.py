"""What may not reach a prompt: prompt injection, secrets, links; `screen` is the one entry."""
