"""The cache of answers (`core/db/cache.py`)."""

import gzip
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from testimonials.core.db.cache import VersionedCache


class Maker:
    """Makes a body and counts how often it had to."""

    def __init__(self, body: bytes = b"body") -> None:
        self.body = body
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.body


def test_a_body_is_made_once_for_a_version():
    cache, make = VersionedCache(10_000), Maker()
    bodies = [cache.get("a", 1, make) for _ in range(3)]
    assert make.calls == 1
    assert {body.plain for body in bodies} == {b"body"}
    assert gzip.decompress(bodies[0].gzipped) == b"body"


def test_the_least_recently_used_goes_first():
    cache, first, second = VersionedCache(2_000), Maker(b"1" * 200), Maker(b"2" * 200)
    cache.get("first", 1, first)
    cache.get("second", 1, second)
    cache.get("first", 1, first)
    cache.get("third", 1, Maker(b"3" * 200))
    cache.get("first", 1, first)
    cache.get("second", 1, second)
    assert (first.calls, second.calls) == (1, 2)
    # What is larger than all of it is given and not kept.
    cache, make = VersionedCache(100), Maker()
    assert [cache.get("a", 1, make).plain for _ in range(2)] == [b"body"] * 2
    assert (make.calls, cache._bytes) == (2, 0)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 3), st.integers(0, 900))))
def test_it_holds_no_more_and_gives_each_key_its_own(requests):
    cache = VersionedCache(3_000)
    for key, version, length in requests:
        body = cache.get(key, version, Maker(key.encode() * length))
        assert body.version == version
        assert set(body.plain.decode()) <= {key}
        held = [len(kept.plain) + len(kept.gzipped) + 500 for kept in cache._bodies.values()]
        assert sum(held) == cache._bytes <= 3_000


def test_many_threads_at_once_count_its_size_right():
    cache = VersionedCache(5_000)

    def use(number: int) -> bytes:
        return cache.get(number % 7, number % 3, Maker(str(number % 7).encode())).plain

    with ThreadPoolExecutor(8) as pool:
        bodies = list(pool.map(use, range(2_000)))
    assert bodies == [str(number % 7).encode() for number in range(2_000)]
    held = [len(kept.plain) + len(kept.gzipped) + 500 for kept in cache._bodies.values()]
    assert sum(held) == cache._bytes
