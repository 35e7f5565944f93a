"""Four servers and four workers on one PostgreSQL, killed every few seconds: is anything lost or doubled?

python -m benchmarks.many_processes            a quarter of an hour or more; writes RESULTS.md beside this
python -m benchmarks.many_processes --quick    some minutes, 100 learners; only prints
"""
