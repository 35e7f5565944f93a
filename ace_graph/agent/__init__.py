"""What the nodes work with: state, resources, reasoning, models, tools, embeddings, the offline tutor."""
