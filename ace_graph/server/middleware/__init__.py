"""What every HTTP request passes before a route sees it."""
