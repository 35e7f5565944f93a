"""The snapshot cache is bounded in bytes and in idleness, and never the truth."""

from __future__ import annotations

from ace_graph.memory import Access, Playbook, Snapshot, Version
from ace_graph.memory.stores import SnapshotCache


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def snapshot(bullets: int, etag: str = "e") -> Snapshot:
    playbook = Playbook()
    for n in range(bullets):
        playbook, _ = playbook.add_bullet("s", f"text {n}")
    return Snapshot(playbook, version=Version("epoch", 1, etag))


def test_what_was_put_is_got_and_replaced() -> None:
    cache = SnapshotCache()
    first, second = snapshot(1), snapshot(1, "f")
    cache.put("a", first)
    assert cache.get("a") is first
    assert cache.get("b") is None
    cache.put("a", second)
    assert cache.get("a") is second
    cache.drop("a")
    assert cache.get("a") is None


def test_the_least_recently_used_snapshot_is_evicted() -> None:
    cache = SnapshotCache(max_bytes=90_000)
    for name in ("a", "b"):
        cache.put(name, snapshot(10))
    assert cache.get("a") is not None
    cache.put("c", snapshot(10))
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert cache.get("c") is not None


def test_one_snapshot_larger_than_the_bound_is_still_held() -> None:
    cache = SnapshotCache(max_bytes=10)
    cache.put("a", snapshot(10))
    assert cache.get("a") is not None


def test_an_idle_entry_is_dropped_after_ten_minutes() -> None:
    clock = Clock()
    cache = SnapshotCache(clock=clock)
    cache.put("a", snapshot(1))
    cache.put("b", snapshot(1))
    clock.now = 599
    assert cache.get("b") is not None
    clock.now = 601
    assert cache.get("a") is None
    assert cache.get("b") is not None


def test_an_older_snapshot_never_replaces_a_newer_one() -> None:
    cache = SnapshotCache()
    newer = Snapshot(version=Version("epoch", 2, "b"))
    cache.put("a", newer)
    cache.put("a", Snapshot(version=Version("epoch", 1, "a")))
    assert cache.get("a") is newer
    begun_anew = Snapshot(version=Version("another life", 1, "c"))
    cache.put("a", begun_anew)
    assert cache.get("a") is begun_anew


def test_of_one_version_the_later_access_part_is_newer() -> None:
    cache = SnapshotCache()
    later, earlier = used(3), used(2)
    cache.put("a", later)
    cache.put("a", earlier)
    assert cache.get("a") is later
    assert cache.newest("a", earlier) is later


def test_what_is_known_is_the_newest_unless_the_cache_has_more_of_its_epoch() -> None:
    cache = SnapshotCache()
    known = used(2)
    assert cache.newest("a", known) is known
    cache.put("a", used(1))
    assert cache.newest("a", known) is known
    cache.put("a", Snapshot(version=Version("another life", 9, "c")))
    assert cache.newest("a", known) is known


def used(clock: int) -> Snapshot:
    return Snapshot(access=Access(access_clock=clock), version=Version("epoch", 1, "a"))
