"""Every function that reads foreign text, and the texts that are hard to read: does time grow with the text?

Does not: say how fast a reader is on ordinary text.
"""
