"""`/metrics` for a Prometheus server that knows the token, and the alert rules in `packaging/`."""

import json
import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.jobs import Job, do_own_work
from testimonials.operations.backup.creating import COPY_JOB
from tests.auth.links import init
from tests.conftest import MakeApp
from tests.support.process import run_program
from tests.support.servers import find_program, free_port

pytestmark = pytest.mark.postgres
TOKEN = "a-token-of-the-operator"


@pytest.fixture
def app(make_app: MakeApp) -> Flask:
    return make_app(metrics_token=TOKEN)


def read(client: FlaskClient, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """Return the samples of one name by their labels, without the process."""
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "text/plain"
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            if sample.name == name:
                labels = {k: v for k, v in sample.labels.items() if k != "process"}
                found[tuple(sorted(labels.items()))] = sample.value
    return found


def test_only_the_token_opens_it(client, make_app):
    for sent in ("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer ü"):
        answer = client.get("/metrics", headers={"Authorization": sent.encode().decode("latin-1")})
        assert answer.status_code == 401, sent
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "testimonials_" not in answer.text
    # Without the setting there is no such page.
    other = make_app().test_client()
    for token in ("", TOKEN):
        answer = other.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 404


def test_requests_are_counted_by_template(client, agent):
    project = agent.create_project()["_id"]
    for _ in range(3):
        agent.client.get(f"/v1/projects/{project}", headers=agent.headers)
    agent.client.get("/v1/me")
    agent.client.get(f"/no/such/{project}")
    counts = read(client, "testimonials_request_seconds_count")

    def count(route: str, method: str, status: int) -> float:
        return counts[(("method", method), ("route", route), ("status", str(status)))]

    assert count("/v1/projects/<project_id>", "GET", 200) == 3
    assert (count("/v1/projects", "POST", 200), count("/v1/me", "GET", 401)) == (1, 1)
    assert count("(none)", "GET", 404) == 1
    assert project not in str(counts)
    assert sum(read(client, "testimonials_request_seconds_sum").values()) > 0


def test_words_of_strangers_make_no_rows_of_their_own(client):
    """Or anybody could fill the memory, and the page, with one for each request."""
    for number in range(3):
        assert client.open("/healthz", method=f"WORD{number}").status_code == 405
    counts = read(client, "testimonials_request_seconds_count")
    assert "WORD" not in str(counts)
    assert counts[(("method", "(other)"), ("route", "(none)"), ("status", "405"))] == 3
    # Sign-ins that were refused are counted.
    for _ in range(2):
        client.get("/login")
        client.post("/login", data={"email": "owner@example.com", "password": "wrong"})
    assert read(client, "testimonials_failed_sign_ins_total") == {(): 2}


def test_a_database_that_is_away_is_told(make_app):
    make_app()
    url = f"postgresql://shop:secret@127.0.0.1:{free_port()}/shop"
    client = make_app(metrics_token=TOKEN, database_url=url).test_client()
    assert read(client, "testimonials_database_up") == {(): 0}
    assert read(client, "testimonials_disk_free_bytes")[()] > 1_000_000


def test_memory_answers_are_counted_apart(client, agent, backend):
    project = agent.create_project()["_id"]
    for _ in range(5):
        assert client.get(f"/widget/{project}/feed").status_code == 200
    name = "testimonials_widget_answers_from_memory_total"
    # The first one has to be made. PostgreSQL has no such path.
    for _ in range(2):
        assert read(client, name) == {(): 4 if backend == "sqlite" else 0}


def test_each_process_answers_for_all(make_app, agent, instance):
    apps = [make_app(metrics_token=TOKEN) for _ in range(2)]
    folder = instance / "metrics"
    for number, each in enumerate(apps):
        for _ in range(number + 2):
            assert each.test_client().get("/v1/me").status_code == 401
        with each.app_context():
            do_own_work("jobs")
    died = folder / "1234-abcdef.prom"
    died.write_text("# TYPE left_over gauge\nleft_over 1\n")
    os.utime(died, (1, 1))
    header = {"Authorization": f"Bearer {TOKEN}"}
    # Also what one has answered since the last background work, once it has shown it.
    assert apps[0].test_client().get("/v1/me").status_code == 401
    for each in apps:
        text = each.test_client().get("/metrics", headers=header).text
        counts = re.findall(r'seconds_count\{.*route="/v1/me".*\} (\d+)\.0', text)
        assert counts == ["3", "3"]
        types = re.findall(r"(?m)^# TYPE (\S+)", text)
        assert len(types) == len({*types}) > 10
        assert len(re.findall(r"(?m)^process_resident_memory_bytes\{process=", text)) == 2
        assert "left_over" not in text
    assert len(list(folder.glob("*.prom"))) == 2


def test_the_instance_is_described(client, moved_clock):
    init(client)
    moved_clock.move(seconds=90)
    mails = read(client, "testimonials_outbox_mails")
    assert (mails[(("state", "queued"),)], mails[(("state", "failed"),)]) == (1, 0)
    assert read(client, "testimonials_outbox_oldest_seconds") == {(): 90}
    assert read(client, "testimonials_disk_free_bytes")[()] > 1_000_000
    assert read(client, "testimonials_database_up") == {(): 1}
    assert read(client, "testimonials_worker_restarts_total") == {(): 0}


def put_jobs(app: Flask) -> datetime:
    now = clock.now()
    with app.app_context(), write():
        db.session.add_all(
            (
                Job(id="sweep", kind="sweep", finished_at=now),
                Job(id="backup", kind="backup", failed_at=now + timedelta(seconds=5), error="disk"),
            )
        )
    return now


def test_background_jobs_tell_when_they_last_went_well(app, client):
    now = put_jobs(app)
    ended = read(client, "testimonials_job_last_success_timestamp_seconds")
    failed = read(client, "testimonials_job_last_failure_timestamp_seconds")
    assert ended == {(("job", "sweep"),): pytest.approx(now.timestamp(), abs=0.01)}
    assert list(failed) == [(("job", "backup"),)]


def test_a_job_that_is_off_is_not_told_of_for_ever(make_app, tmp_path):
    place = str(tmp_path / "elsewhere")
    copied = make_app(metrics_token=TOKEN, backup_to=place)
    with copied.app_context(), write():
        db.session.add(Job(id=COPY_JOB, kind=COPY_JOB, failed_at=clock.now(), error="no folder"))
    (failed,) = read(copied.test_client(), "testimonials_job_last_failure_timestamp_seconds")
    assert failed == (("job", COPY_JOB),)
    other = make_app(metrics_token=TOKEN).test_client()
    assert read(other, "testimonials_job_last_failure_timestamp_seconds") == {}


def test_no_address_and_no_secret_is_in_it(client, make_caller, owner):
    client.get(f"/v1/{owner.api_key}/{owner.email}")
    text = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    assert re.findall(r"\w+@\w+", text) == []
    assert owner.api_key not in text
    assert owner.account_id not in text


RULES = Path(__file__).parents[2] / "packaging" / "prometheus-rules.yml"
REQUESTS = "testimonials_request_seconds_count"
JOB = "testimonials_job_last_success_timestamp_seconds"


# For each alert: a series, its values when all is well, and when it is not; a value a minute.
SERIES = {
    "TestimonialsDown": ('up{job="testimonials"}', "1x40", "0x40"),
    "TestimonialsDatabaseAway": ("testimonials_database_up", "1x40", "0x40"),
    "TestimonialsErrors": (f'{REQUESTS}{{status="503"}}', "0x40", "0+60x40"),
    "TestimonialsDiskLow": ("testimonials_disk_free_bytes", "900000000x40", "400000000x40"),
    "TestimonialsMailWaits": ("testimonials_outbox_oldest_seconds", "60x40", "1900+60x40"),
    "TestimonialsMailFailed": ('testimonials_outbox_mails{state="failed"}', "3x40", "3x30 4x10"),
    "TestimonialsRedisAway": ("testimonials_redis_up", "1x40", "0x40"),
    "TestimonialsWorkersDie": ("testimonials_worker_restarts_total", "0x20 1x20", "0x30 1+1x10"),
    "TestimonialsFailedSignIns": ("testimonials_failed_sign_ins_total", "0+3x40", "0+30x40"),
    "TestimonialsJobFails": (
        'testimonials_job_last_failure_timestamp_seconds{job="sweep"}', "_x40", "60x40",
    ),
    "TestimonialsNoWork": (f'{JOB}{{job="sweep"}}', "0+60x40", "60x40"),
    "TestimonialsBackupOld": (f'{JOB}{{job="backup"}}', "0x40", "-180000x40"),
    "TestimonialsCopyOld": (f'{JOB}{{job="backup-copy"}}', "0x40", "-180000x40"),
    "TestimonialsVerifyOld": (f'{JOB}{{job="backup-verify"}}', "0x40", "-300000x40"),
}  # fmt: skip


def promtool(*arguments: object) -> str:
    program = find_program("promtool")
    assert program, "promtool is not installed; scripts/test installs it."
    done = run_program([program, *arguments])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def describe(alert: str, series: str, values: str, *, is_raised: bool) -> dict[str, Any]:
    """Make one test of promtool: 40 minutes after the start the alert is raised, or not."""
    expected = [{"labels": "{}", "value": 1}] if is_raised else []
    rising = (f'{REQUESTS}{{status="200"}}', f'{JOB}{{job="record.sign"}}')
    others = [{"series": each, "values": "0+60x40"} for each in rising]
    fires = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})'
    return {
        "interval": "1m",
        "input_series": [{"series": series, "values": values}, *others],
        "promql_expr_test": [{"expr": fires, "eval_time": "40m", "exp_samples": expected}],
    }


@pytest.mark.thorough
def test_each_alert_is_raised_by_what_it_is_for_and_by_nothing_less(tmp_path):
    assert re.findall(r"alert: (\w+)", RULES.read_text()) == list(SERIES)
    tests = [
        describe(alert, series, values, is_raised=is_raised)
        for alert, (series, well, ill) in SERIES.items()
        for values, is_raised in ((well, False), (ill, True))
    ]
    path = tmp_path / "tests.yml"
    content = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}
    path.write_text(json.dumps(content))
    assert "SUCCESS" in promtool("test", "rules", path)


def test_each_metric_of_the_rules_is_served(make_app):
    app: Flask = make_app(
        metrics_token=TOKEN, ratelimit_storage_url=f"redis://127.0.0.1:{free_port()}"
    )
    put_jobs(app)
    client: FlaskClient = app.test_client()
    client.get("/healthz")
    page = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    wanted = set(re.findall(r"testimonials_\w+", RULES.read_text()))
    assert wanted - set(re.findall(r"(?m)^\w+", page)) == set()
