"""Near-duplicates: which pairs of bullets merge, which are rivals, and which have nothing to do with another.

seeds/*.txt    hand-written bullets in many domains, each with hand-written changes
written.txt    pairs that are wholly hand-written
pairs.tsv      the labelled set, made of both by make_pairs.py; never edited by hand
real_words.txt pairs of real words that look alike
"""
