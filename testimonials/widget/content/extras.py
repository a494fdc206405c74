"""What some testimonials have beside their words: a recording, answers to questions, and marks."""

from collections.abc import Iterable
from typing import Any

from testimonials.core.urls import testimonial_url
from testimonials.projects.models import Project
from testimonials.testimonials.answers import Answer, public_answers
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.recordings.describing import describe_of

# The height of a poster where there is room, and how wide it may be then. A phone's picture is cut
# a little, to leave room for words.
POSTER_HEIGHT = 400
NARROWEST, WIDEST = 350, 712
MAX_SCALE = 10


def find_recording(testimonial: Testimonial) -> Recording | None:
    """Return its recording if it can be played."""
    recording = testimonial.recording if testimonial.kind != "written" else None
    return recording if recording and recording.state == "ready" else None


def describe_extras(testimonial: Testimonial, project: Project) -> dict[str, Any] | None:
    """Return `recording`, `answers` (pairs of texts) and `marks`, as far as there are any."""
    recording = find_recording(testimonial)
    marks = {
        "verified": testimonial.purchase_verified_at is not None,
        "rewarded": testimonial.is_rewarded,
    }
    extras = {
        "recording": recording and _describe_recording(recording, testimonial, project),
        "answers": write_answers(
            public_answers(testimonial, project) if testimonial.answers else ()
        ),
        "marks": [mark for mark, is_there in marks.items() if is_there],
    }
    return {name: value for name, value in extras.items() if value} or None


def _describe_recording(
    recording: Recording, testimonial: Testimonial, project: Project
) -> dict[str, Any]:
    # With a key where it isn't public yet, as for its author.
    told, width = describe_of(testimonial) or {}, float(WIDEST)
    if told["posterUrl"] and recording.width and recording.height:
        width = POSTER_HEIGHT * recording.width / recording.height
    described = {
        "src": told["url"],
        "type": told["mediaType"],
        "page": testimonial_url(project.slug, testimonial.id, project.own_host),
        "poster": told["posterUrl"],
        "captions": told["captionsUrl"],
        "seconds": round(recording.seconds) if recording.seconds else None,
        # Only a video has one.
        "width": min(max(round(width), NARROWEST), WIDEST) if recording.kind == "video" else None,
    }
    return {name: value for name, value in described.items() if value is not None}


def write_answers(answers: Iterable[Answer]) -> list[list[str]]:
    """Return answers as pairs of texts: the question, and what reads the same in each language."""
    return [[each["question"], _write(each["kind"], each["answer"])] for each in answers]


def _write(kind: str, answer: Any) -> str:
    """Return an answer as a text that reads the same in every language."""
    if kind == "scale":
        return f"{answer}/{MAX_SCALE}"
    if answer is True:
        return "✓"
    return ", ".join(answer) if isinstance(answer, list) else str(answer)
