"""The sample account and project that a first start can create."""

from urllib.parse import urlsplit

import pytest

from testimonials.core.http.errors import ServiceError
from testimonials.operations.sample import prepare_sample


def test_it_is_made_once_with_pages_that_answer(app, owner):
    """Also where another project has its slug."""
    owner.create_project(businessName="Fern & Fable Salon")
    with app.app_context():
        first, second = prepare_sample(), prepare_sample()
    assert first.widget_page == second.widget_page
    assert None is not first.claim_link != second.claim_link is not None
    client = app.test_client()
    widget = urlsplit(first.widget_page).path
    assert "Fern &amp; Fable Salon" in client.get(widget).text
    items = client.get(f"{widget}/feed").json["items"]  # type: ignore[index]
    # Its own testimonials are the newest, before the samples.
    assert [item.get("isSample") for item in items] == [None] * 3 + [True] * 6
    assert client.get(urlsplit(first.collection_page).path).status_code == 200


def test_it_keeps_to_the_limit_of_projects(make_app):
    app = make_app(project_limit=0)
    with app.app_context(), pytest.raises(ServiceError, match="This account is at its limit of 0"):
        prepare_sample()
