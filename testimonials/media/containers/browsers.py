"""Which visitors can't play a recording: said to the owner before it is approved.

From the release notes of the browsers, and caniuse.com, of 2026.
"""

OLD_SAFARI = "Safari before 17.4"
WHO = (
    # What is in the media type or the codecs, and who can't play that.
    ("ogg", "Safari before 18.4"),
    ("hvc1", "Firefox on Linux, and Chrome on computers without a decoder for HEVC"),
    ("hev1", "Firefox on Linux, and Chrome on computers without a decoder for HEVC"),
    ("av01", "Apple devices from before 2023"),
    ("webm", OLD_SAFARI),
    ("vp09", OLD_SAFARI),
    ("opus", OLD_SAFARI),
)
PLAYED = ("vp8", "vp9", "vp09", "av01", "avc1", "avc3", "hvc1", "hev1", "opus", "vorbis", "mp4a")


def tell_who_cannot_play(media_type: str, codecs: str) -> str:
    """Return a sentence, or "" for what every common browser plays."""
    unknown = [each for each in codecs.split(", ") if not each.startswith(PLAYED)]
    if unknown:
        return f"Most browsers can’t play this: it is in {unknown[0]}."
    for part, who in WHO:
        if part in f"{media_type} {codecs}":
            return f"{who} can’t play this."
    return ""
