"""Captions: WebVTT that is checked and written anew, and what a transcript makes of itself."""

import re
from itertools import pairwise

from testimonials.core.web.languages import gettext, gettext_noop

CAPTIONS_LENGTH = 40_000
MOST_CUES = 1000
# As much as is read at a glance.
GLANCE = 80
TIME = r"(?:(\d{1,3}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
TIMING = re.compile(rf"{TIME}[ \t]+-->[ \t]+{TIME}(?:[ \t]+([^\n]*))?")
# Settings, notes and styles, which aren't kept.
BESIDE = re.compile(r"(NOTE|STYLE|REGION)\b")

Cue = tuple[float, float, str]


class CaptionsRefused(Exception):
    """The text is no WebVTT; the message says where."""


def clean_captions(text: str) -> str:
    """Return WebVTT with its cues alone; raise `CaptionsRefused`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not re.match(r"WEBVTT([ \t\n]|$)", text):
        raise CaptionsRefused(
            gettext("Captions must be WebVTT, which begins with the line WEBVTT.")
        )
    cues = [_read_cue(block) for block in re.split(r"\n{2,}", text)[1:] if not BESIDE.match(block)]
    if not cues:
        raise CaptionsRefused(
            gettext("There is no cue in these captions: a time, and words below it.")
        )
    if len(cues) > MOST_CUES:
        raise CaptionsRefused(gettext("There are too many cues: at most %(most)s.", most=MOST_CUES))
    if any(earlier[0] > later[0] for earlier, later in pairwise(cues)):
        raise CaptionsRefused(gettext("The cues must be in the order of their times."))
    return _write(cues)


def _read_cue(block: str) -> Cue:
    lines = block.split("\n")
    at = 0 if "-->" in lines[0] else 1
    timing = TIMING.fullmatch(lines[at].strip()) if at < len(lines) else None
    words = "\n".join(line.strip() for line in lines[at + 1 :] if line.strip())
    shown = lines[min(at, len(lines) - 1)][:60]
    if timing is None:
        problem = gettext_noop(
            "A cue must have a time such as 00:01.000 --> 00:04.000: “%(line)s”."
        )
    elif (start := _seconds(timing, 1)) >= (end := _seconds(timing, 5)):
        problem = gettext_noop("A cue must end after it begins: “%(line)s”.")
    elif not words or "-->" in words:
        problem = gettext_noop("A cue must have words below its time: “%(line)s”.")
    else:
        return start, end, words
    raise CaptionsRefused(gettext(problem, line=shown))


def _seconds(timing: re.Match[str], first: int) -> float:
    hours, minutes, seconds, thousandths = (int(timing[first + at] or 0) for at in range(4))
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def caption(transcript: str, seconds: float) -> str:
    """Return WebVTT of words without times: one glance after another, each as long as its share."""
    glances: list[str] = []
    for word in transcript.split():
        if glances and len(glances[-1]) + 1 + len(word) <= GLANCE:
            glances[-1] += f" {word}"
        else:
            glances.append(word)
    total, begin = sum(map(len, glances)), 0.0
    cues = []
    for words in glances:
        end = begin + seconds * len(words) / total
        # What stands for markup in WebVTT.
        plain = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        cues.append((begin, end, plain))
        begin = end
    return _write(cues)


def _write(cues: list[Cue]) -> str:
    return "\n\n".join(["WEBVTT", *(f"{_time(a)} --> {_time(b)}\n{words}" for a, b, words in cues)])


def _time(seconds: float) -> str:
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}.{rest % 1000:03}"
