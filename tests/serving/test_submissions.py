"""Many visitors sending at once to the real service: nothing is lost, nothing is doubled."""

import threading
from collections import Counter

import pytest
from flask import Flask

from testimonials.settings.current import current_settings
from tests.conftest import Caller, StartService
from tests.support.rows import read_testimonials
from tests.support.servers import MailSink
from tests.support.visitors import Visitors, words_of

pytestmark = [pytest.mark.process, pytest.mark.thorough]

VISITORS = 200


def test_of_two_hundred_visitors_who_all_send_twice_each_is_there_once(
    app: Flask, owner: Caller, start: StartService, smtp: MailSink
) -> None:
    project = owner.create_project(slug="kiln")["_id"]
    service = start(
        instance=current_settings(app).instance_path,
        database_url=current_settings(app).database_url,
        smtp_url=smtp.url,
        trusted_proxies="1",
        min_form_seconds="0",
    )
    visitors = Visitors(f"{service.url}/kiln", VISITORS, 20)
    visitors.open_forms()
    added: list[int] = []

    def add_others() -> None:
        # An agent works on the same project meanwhile.
        path = f"/v1/projects/{project}/testimonials"
        for number in range(20):
            body = {"authorName": f"Agent {number}", "text": "Added."}
            added.append(service.call("POST", path, body, owner.headers).status)

    agent = threading.Thread(target=add_others)
    agent.start()
    visitors.send_forms(times=2)
    agent.join()
    assert Counter(visitors.statuses) == {303: 2 * VISITORS}
    assert added == [200] * 20
    rows = read_testimonials(app, project)
    sent = [row for row in rows if row.source == "public_page"]
    assert Counter(row.text for row in sent) == Counter(map(words_of, range(VISITORS)))
    # Past a hundred within the hour the project's folder takes them.
    assert Counter((row.status, row.held_for) for row in sent) == {
        ("pending", None): 100,
        ("spam", "flood"): VISITORS - 100,
    }
    assert len({row.created_at for row in rows}) == VISITORS + 20
    told = smtp.wait(2)
    assert [mail.recipients for mail in told] == [[owner.email]] * 2
    assert sum("came at once" in str(mail.message["Subject"]) for mail in told) == 1
