"""What `make release` does before a version is published: build, compare, install, and list what is in it."""
