"""Shapes of what uploads say."""

from testimonials.core.web.fields import Choice, Count, StrictSchema, Text

MOST_BYTES = 2**40


class UploadSchema(StrictSchema):
    """What is about to be uploaded; its type is looked up in the file itself."""

    kind = Choice("video", "voice", required=True)
    size = Count(1, MOST_BYTES, required=True)
    mediaType = Text(200, one_line=True)
