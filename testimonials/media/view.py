"""Recordings for the templates and feeds of later features."""

from testimonials.testimonials.recordings.describing import (
    describe_of,
    describe_recording,
    load_recordings,
)

__all__ = ["describe_of", "describe_recording", "load_recordings"]
