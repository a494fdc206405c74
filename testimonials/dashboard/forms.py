"""What forms of the dashboard share."""

from testimonials.core.errors import ServiceError

Errors = dict[str, list[str]]


def to_form_errors(error: ServiceError, field: str = "form") -> Errors:
    """Give what a service refused by field, or at `field` where it named none."""
    return {name: list(texts) for name, texts in (error.errors or {}).items()} or {
        field: [error.message]
    }
