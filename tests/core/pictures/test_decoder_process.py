"""What a decoder may take before its process is ended, whatever it does."""

import io
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from testimonials.core.pictures import decoder_process, decoding
from testimonials.core.pictures.decoder_process import Decoder
from testimonials.core.pictures.decoding import TOO_MUCH_WORK, Decoded, Unreadable, Use
from testimonials.core.pictures.images import AVATAR


def calculate() -> None:
    while True:
        pass


def allocate() -> None:
    kept = []
    while True:
        kept.append(bytearray(10_000_000))


def sleep() -> None:
    # As long as it has, which is shortened here.
    signal.setitimer(signal.ITIMER_REAL, signal.getitimer(signal.ITIMER_REAL)[0] / 1000)
    signal.pause()


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


HARMS: dict[bytes, Callable[[], None]] = {
    each.__name__.encode(): each for each in (calculate, allocate, sleep, crash)
}


def decode(data: bytes, _use: Use) -> Decoded:
    """Stand in for a decoder that a file has taken over."""
    if harm := HARMS.get(data):
        harm()
    return Decoded(data, 1, 1)


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Decoder]:
    monkeypatch.setattr(decoding, "decode_picture", decode)
    monkeypatch.setattr(decoder_process, "CPU_SECONDS", 1)
    decoder = Decoder()
    yield decoder
    decoder.close()


@pytest.mark.parametrize("harm", HARMS)
def test_whatever_a_decoder_does_ends_with_its_picture(decoder: Decoder, harm: bytes) -> None:
    with pytest.raises(Unreadable, match=TOO_MUCH_WORK):
        decoder.decode(io.BytesIO(harm), AVATAR)
    assert decoder.decode(io.BytesIO(b"harmless"), AVATAR) == Decoded(b"harmless", 1, 1)
