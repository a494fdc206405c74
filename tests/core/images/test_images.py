"""Uploaded pictures: what becomes of them, what is refused, and where they are served."""

import io
import itertools
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image, ImageCms, PngImagePlugin

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.images import decode as decoding
from testimonials.core.images import worker
from testimonials.core.images.decode import TOO_MUCH_WORK, Decoded, Unreadable, Use, decode_picture
from testimonials.core.images.uploads import AVATAR, LOGO, MEGABYTE, ImageRefused
from testimonials.core.images.worker import Decoder
from tests.support import pictures
from tests.support.pictures import photo, read_image, to_bytes
from tests.support.sampling import rounds

RED, BLUE = (220, 20, 20), (20, 20, 220)


SOUND = {
    "png": to_bytes(photo(), "PNG"), "jpeg": to_bytes(photo(), "JPEG"),
    "progressive": to_bytes(photo(), "JPEG", progressive=True), "webp": to_bytes(photo(), "WEBP"),
    "lossless": to_bytes(photo(), "WEBP", lossless=True),
    "extended": to_bytes(photo(mode="RGBA"), "WEBP", exif=Image.Exif().tobytes()),
}  # fmt: skip


def is_near(found: object, wanted: tuple[int, ...], within: int = 16) -> bool:
    assert isinstance(found, tuple)
    return all(abs(a - b) <= within for a, b in zip(found, wanted, strict=True))


def refusal(data: bytes, use: Use = AVATAR) -> str:
    with pytest.raises(ImageRefused) as caught:
        read_image(data, use)
    return caught.value.message


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_every_kind_becomes_a_square_webp(data):
    image = read_image(data, AVATAR)
    found = pictures.read(image.content)
    assert found.format == "WEBP"
    assert found.size == (image.width, image.height) == (48, 48)
    assert is_near(found.convert("RGB").getpixel((24, 6)), RED)
    assert is_near(found.convert("RGB").getpixel((24, 42)), BLUE)


@pytest.mark.parametrize(
    ("use", "size", "kind"),
    [(AVATAR, (256, 256), "PNG"), (LOGO, (640, 107), "JPEG"), (AVATAR, (256, 256), "WEBP")],
)
def test_large_pictures_are_made_as_shown(use, size, kind):
    image = read_image(to_bytes(photo(3000, 500), kind), use)
    assert (image.width, image.height) == size
    assert is_near(pictures.read(image.content).convert("RGB").getpixel((99, 9)), RED)


def exif(orientation: int) -> Image.Exif:
    """Return what a phone notes: how it was held, by whom, and where."""
    tags = Image.Exif()
    tags[ExifTags.Base.Orientation] = orientation
    tags[0x010F] = "A maker of phones"
    tags.get_ifd(0x8825).update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 17.0)})
    return tags


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_turned_photo_comes_out_upright_and_without_its_place(kind):
    # Held upright, a phone stores the picture lying on its left side.
    lying = photo().transpose(Image.Transpose.ROTATE_90)
    data = to_bytes(lying, kind, exif=exif(6))
    assert b"A maker of phones" in data
    content = read_image(data, LOGO).content
    found = pictures.read(content)
    assert found.size == (64, 48)
    assert is_near(found.getpixel((32, 6)), RED)
    assert is_near(found.getpixel((32, 42)), BLUE)
    assert dict(found.getexif()) == {}
    for left in (b"EXIF", b"A maker", b"XMP ", b"ICCP"):
        assert left not in content


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "1", "L"])
def test_transparency_and_palettes(mode):
    picture = photo(600, 600, "RGBA")
    picture.putalpha(Image.new("L", picture.size, 255))
    picture.paste((0, 0, 0, 0), (0, 0, 300, 600))
    data = to_bytes(picture.quantize(16) if mode == "P" else picture.convert(mode), "PNG")
    found = pictures.read(read_image(data, AVATAR).content)
    assert found.mode == ("RGB" if mode in ("1", "L") else "RGBA")
    if found.mode == "RGBA":
        assert found.getpixel((60, 128))[3] == 0  # type: ignore[index]
        assert found.getpixel((200, 128))[3] == 255  # type: ignore[index]


@pytest.mark.parametrize("kind", ["WEBP", "PNG"])
def test_a_moving_picture_stands_still_at_its_first(kind):
    first, second = Image.new("RGB", (64, 48), RED), Image.new("RGB", (64, 48), BLUE)
    data = to_bytes(first, kind, save_all=True, append_images=[second], duration=100)
    found = pictures.read(read_image(data, AVATAR).content)
    assert getattr(found, "n_frames", 1) == 1
    assert is_near(found.convert("RGB").getpixel((24, 24)), RED)


def test_a_profile_of_colours_is_applied_and_left_out():
    plain = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    # What red is in this one is blue elsewhere.
    red, blue = plain.index(b"rXYZ"), plain.index(b"bXYZ")
    swapped = bytearray(plain)
    swapped[red : red + 4], swapped[blue : blue + 4] = b"bXYZ", b"rXYZ"
    for profile, above in ((plain, RED), (bytes(swapped), BLUE), (b"no profile at all" * 9, RED)):
        for kind in ("PNG", "JPEG", "WEBP"):
            content = read_image(to_bytes(photo(), kind, icc_profile=profile), AVATAR).content
            assert b"ICCP" not in content
            assert is_near(pictures.read(content).convert("RGB").getpixel((24, 6)), above)


def test_odd_ways_to_store_colours():
    data = to_bytes(photo(), "PNG", transparency=RED)
    found = pictures.read(read_image(data, AVATAR).content)
    assert [found.getpixel((24, y))[3] for y in (6, 42)] == [0, 255]  # type: ignore[index]
    # For printing.
    found = pictures.read(read_image(to_bytes(photo(mode="CMYK"), "JPEG"), AVATAR).content)
    assert is_near(found.getpixel((24, 6)), RED, within=40)
    assert is_near(found.getpixel((24, 42)), BLUE, within=40)
    # Sixteen bits are scaled and not cut off.
    grey = Image.new("I;16", (64, 48), 128 * 257)
    found = pictures.read(read_image(to_bytes(grey, "PNG"), AVATAR).content)
    assert is_near(found.convert("RGB").getpixel((24, 24)), (128, 128, 128), within=3)
    # A phone's file of several pictures.
    data = to_bytes(photo(), "MPO", save_all=True, append_images=[photo(32, 24)])
    assert Image.open(io.BytesIO(data)).format == "MPO"
    assert read_image(data, LOGO).width == 64


def test_warnings_of_the_decoder_are_no_errors():
    # Bytes as transparency of a palette make the library warn, and warnings are errors here.
    palette = photo().quantize(4)
    data = to_bytes(palette, "PNG", transparency=bytes([0, 128, 255, 255]))
    assert read_image(data, AVATAR).width == 48
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "x" * 5000, zip=True)
    assert read_image(to_bytes(photo(), "PNG", pnginfo=notes), AVATAR).width == 48
    # A damaged note beside the picture does no harm, and odd sizes stay pictures.
    for note in (b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\x7f", b"Exif\0\0MM" * 9):
        assert read_image(to_bytes(photo(), "JPEG", exif=note), AVATAR).width == 48
    for size, use in itertools.product([(1, 1), (1, 4000), (4000, 1), (255, 257)], (AVATAR, LOGO)):
        image = read_image(to_bytes(photo(*size), "PNG"), use)
        assert 1 <= image.width <= use.width
        assert 1 <= image.height <= use.height


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "can’t be read as a picture"),
        (pictures.SVG, "can’t be read as a picture"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>" + pictures.SVG, "can’t be read as a picture"),
        (pictures.GIF, "can’t be read as a picture"),
        (pictures.HEIC, "can’t be read as a picture"),
        (b"%PDF-1.7\n", "more than a picture"),
        (b"PK\x03\x04" + bytes(40), "can’t be read as a picture"),
        (bytes(4000), "can’t be read as a picture"),
        (SOUND["png"] + b"PK\x05\x06" + bytes(18), "more than a picture"),
        (SOUND["png"] + b"<?php system($_GET[0]); ?>", "more than a picture"),
        (to_bytes(photo(), "JPEG", comment=b"<SCRIPT>alert(1)</SCRIPT>"), "more than a picture"),
    ],
)
def test_what_is_no_plain_picture_is_refused_with_the_reason(data, words):
    assert words in refusal(data)


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_a_file_that_was_cut_off_is_refused(data):
    for part in (0.3, 0.8):
        assert refusal(data[: int(len(data) * part)]) in (
            decoding.DAMAGED,
            "This file can’t be read as a picture. Use PNG, JPEG or WebP.",
        )


def test_what_is_too_large_is_refused_before_it_takes_memory():
    for use, limit in ((LOGO, 2), (AVATAR, 10)):
        data = SOUND["png"] + bytes(limit * MEGABYTE)
        assert f"and the limit is {limit} MB" in refusal(data, use)
    # A progressive JPEG may have half the pixels.
    data = to_bytes(Image.new("L", (6000, 5000)), "JPEG", progressive=True)
    assert "the limit is 25 megapixels" in refusal(data)
    data = pictures.png_of_size(10_000, 10_000)
    assert len(data) < MEGABYTE
    tracemalloc.start()
    with pytest.raises(Unreadable, match="too many pixels"):
        decode_picture(data, AVATAR)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "(10000 x 10000)" in refusal(data)
    assert peak < 16 * MEGABYTE
    for kind in (b"VP8X", b"VP8L", b"VP8 "):
        huge = pictures.webp_of_size(kind, 16383, 16383)
        assert "too many pixels (16383 x 16383)" in refusal(huge)


MEASURE = """
import resource, sys
from testimonials.core.images.decode import decode_picture
from testimonials.core.images.uploads import AVATAR
decode_picture(open(sys.argv[1], "rb").read(), AVATAR)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
image = decode_picture(open(sys.argv[2], "rb").read(), AVATAR)
print(image.width, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "kind", "options", "megabytes"),
    [
        ((8660, 5773), "JPEG", {}, 60),
        ((5000, 5000), "JPEG", {"progressive": True}, 220),
        ((5000, 5000), "PNG", {}, 220),
    ],
    ids=["50 MP JPEG", "25 MP progressive JPEG", "25 MP PNG"],
)
def test_the_largest_pictures_fit_into_a_small_machine(tmp_path, size, kind, options, megabytes):
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(SOUND["png"])
    large.write_bytes(to_bytes(photo(*size), kind, **options))
    output = subprocess.check_output([sys.executable, "-c", MEASURE, small, large], text=True)
    width, grown = map(int, output.split())
    assert width == 256
    assert grown < megabytes


@settings(max_examples=rounds(60, 400))
@given(
    st.sampled_from(sorted(SOUND)),
    st.lists(st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=6)), max_size=6),
    st.floats(0.05, 1),
)
def test_any_damage_has_a_reason(name, damage, part):
    data = bytearray(SOUND[name])
    for at, noise in damage:
        start = int(at * len(data))
        data[start : start + len(noise)] = noise
    try:
        image = decode_picture(bytes(data[: int(len(data) * part)]), AVATAR)
    except Unreadable:
        return
    assert pictures.read(image.content).size == (image.width, image.height)


def test_a_stored_picture_is_served_as_nothing_else(app, client):
    with app.app_context(), write():
        image = read_image(to_bytes(photo(), "PNG"), AVATAR)
        db.session.add(image)
        db.session.flush()
        path = f"/media/{image.id}.webp"
    answer = client.get(path)
    assert answer.status_code == 200
    assert pictures.read(answer.data).size == (48, 48)
    headers = answer.headers
    assert headers["Content-Type"] == "image/webp"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "Set-Cookie" not in headers
    again = client.get(path, headers={"If-None-Match": headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["Cache-Control"] == headers["Cache-Control"]
    assert client.head(path).headers["Content-Length"] == str(len(answer.data))


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
    monkeypatch.setattr(worker, "CPU_SECONDS", 1)
    decoder = Decoder()
    yield decoder
    decoder.close()


@pytest.mark.parametrize("harm", HARMS)
def test_whatever_a_decoder_does_ends_with_its_picture(decoder, harm):
    with pytest.raises(Unreadable, match=TOO_MUCH_WORK):
        decoder.decode(io.BytesIO(harm), AVATAR)
    assert decoder.decode(io.BytesIO(b"harmless"), AVATAR) == Decoded(b"harmless", 1, 1)
