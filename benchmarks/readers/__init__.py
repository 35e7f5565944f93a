"""The functions that read foreign text, with texts that are hard to read: does time grow with the text?"""
