"""The page on which a learner sees and steers a memory: a client of the functions behind the HTTP API."""
