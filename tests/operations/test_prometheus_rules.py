"""The alert rules in `packaging/`, tried with Prometheus' own tool."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import MakeApp
from tests.operations.test_metrics import TOKEN, put_jobs
from tests.support.servers import find_program, free_port

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
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def describe(alert: str, series: str, values: str, *, is_raised: bool) -> dict[str, Any]:
    """Make one test of promtool: 40 minutes after the start the alert is raised, or not."""
    expected = [{"labels": "{}", "value": 1}] if is_raised else []
    return {
        "interval": "1m",
        "input_series": [
            {"series": series, "values": values},
            {"series": f'{REQUESTS}{{status="200"}}', "values": "0+60x40"},
        ],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})',
                "eval_time": "40m",
                "exp_samples": expected,
            }
        ],
    }


@pytest.mark.thorough
def test_the_rules_are_well_formed() -> None:
    assert f"SUCCESS: {len(SERIES)} rules found" in promtool("check", "rules", RULES)


@pytest.mark.thorough
def test_each_alert_is_raised_by_what_it_is_for_and_by_nothing_less(tmp_path: Path) -> None:
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


def test_each_metric_of_the_rules_is_served(make_app: MakeApp) -> None:
    app: Flask = make_app(
        metrics_token=TOKEN, ratelimit_storage_url=f"redis://127.0.0.1:{free_port()}"
    )
    put_jobs(app)
    client: FlaskClient = app.test_client()
    client.get("/healthz")
    page = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    wanted = set(re.findall(r"testimonials_\w+", RULES.read_text()))
    assert wanted - set(re.findall(r"(?m)^\w+", page)) == set()
