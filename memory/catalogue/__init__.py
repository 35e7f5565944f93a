"""Named playbooks: names, entries of the catalogue, version labels, and attaching playbooks to a run."""
