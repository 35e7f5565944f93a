"""Long conversations in six languages, the facts of their turns, and questions about them."""
