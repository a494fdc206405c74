"""The API's door to a setup in one call."""

from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.agents.setup.answers import describe_setup, summarise
from testimonials.agents.setup.schemas import MAX_BYTES, SetupResultSchema, SetupSchema
from testimonials.agents.setup.services import set_up
from testimonials.core.web.endpoint import endpoint
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.writes import begin_call, commit_answer
from testimonials.extensions import limiter

setup = Blueprint("setup", __name__)

_RESULT = SetupResultSchema()

# A hundred proposals keep SQLite from other writers for a second, also when they are only tried.
SETUPS_PER_ACCOUNT = Limit("setup", 60, "for one account", for_load=True)


@setup.put("/v1/setup")
@require_access(Scope.CONFIGURE, by_key=True, drafts=True)
@endpoint(
    data=SetupResultSchema,
    body=SetupSchema,
    raises=(402, 403, 404, 409, 429),
    max_bytes=MAX_BYTES,
    example={
        "externalId": "corner-bakery",
        "project": {
            "businessName": "Corner Bakery",
            "website": "cornerbakery.example",
            "headline": "How was your bread?",
        },
        "page": {
            "thankYouMessage": "Thank you! See you on Saturday.",
            "buttonColor": "#8A4B08",
            "collectFields": {"company": False, "role": False},
        },
        "widget": {"layout": "masonry", "palette": "amber"},
        "design": {"brandColor": "#8A4B08"},
        "testimonials": [
            {
                "externalId": "guestbook-12",
                "authorName": "Maya Kowalski",
                "text": "The rye is the best in town.",
                "rating": 5,
            }
        ],
        "reason": "The colours of your shop, and no questions about companies.",
    },
)
def set_up_project(caller: Caller, body: dict[str, Any]) -> Response:
    """Set up a project.

    Everything in one call, which is safe to repeat: it says what should be so, under your own
    ``externalId`` of the project and of each testimonial, and what is left out stays as it is.
    The answer says in ``changed`` what was done, in ``already`` what was so before, in
    ``proposed`` what waits for the owner, and in ``refused`` what was not done and why.

    The account's key creates the project, changes the widget and adds testimonials at once; the
    page, the design and changes of testimonials wait for the owner as proposals. A token does at
    once what its scopes allow, and proposes the rest if it has the scope draft. A proposal that
    waits isn't made again, nor one that the owner declined. All of it is done or, after an error,
    nothing. A body may have 512 KiB. At most 60 calls an hour are taken for an account.
    """
    limiter.count(SETUPS_PER_ACCOUNT, caller.id)
    begin_call(caller.id)
    steps = set_up(caller, body)
    return commit_answer(summarise(steps), _RESULT.dump(describe_setup(steps)))
