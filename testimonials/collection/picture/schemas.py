"""The query of a testimonial's picture."""

from testimonials.collection.picture.looks import LOOKS, SIZES
from testimonials.core.web.endpoint import QuerySchema
from testimonials.core.web.fields import Choice


class PictureQuerySchema(QuerySchema):
    """How a picture looks and how large it is."""

    look = Choice(*LOOKS, load_default=LOOKS[0], description="Its colours follow the widget's.")
    size = Choice(
        *SIZES,
        load_default="landscape",
        description="`landscape` has 1200 x 630 pixels, `square` 1080 x 1080, `story` 1080 x 1920 "
        "with room for an app's buttons.",
    )
