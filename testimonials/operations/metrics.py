"""Metrics for Prometheus, of each process and of the whole instance.

The library is loaded only if metrics are switched on. Counters are those of a process (the label
`process`); what comes from the database is the same in every process.
"""

import contextlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flask import Flask, Response, abort, current_app, g, request
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import site
from testimonials.core.jobs import every_process
from testimonials.core.mail.outbox import count_mails, measure_waiting
from testimonials.core.settings.table import current_settings
from testimonials.operations.health import list_jobs, measure_free
from testimonials.operations.server.supervisor import RESTARTS
from testimonials.widget.cache import TICKER, Ticker

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
EXTENSION = "testimonials_metrics"
SIGN_IN = ("/login", "POST")
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
# Clients may send any word as a method, and each would be kept as long as the process runs.
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})

# The file extension of a process's page, and the age at which its process must have ended.
ENDING, OLD_SECONDS = ".prom", 180

# Numbers by label values.
Values = dict[tuple[str, ...], float]


def init_metrics(app: Flask) -> None:
    app.extensions[EXTENSION] = Metrics(app)
    app.after_request(_observe)


@site.get("/metrics")
def show_metrics() -> ResponseReturnValue:
    """Serve the metrics to callers with the token; 404 without the setting."""
    if not (token := current_settings().metrics_token):
        abort(404)
    sent = request.headers.get("Authorization", "")
    if not hmac.compare_digest(sent.encode(), f"Bearer {token}".encode()):
        return Response(status=401, headers={"WWW-Authenticate": "Bearer"})
    metrics: Metrics | None = current_app.extensions.get(EXTENSION)
    content = _write(metrics.collect()) if metrics is not None else None
    return Response(content, content_type=METRICS_TYPE)


def _observe(response: Response) -> Response:
    metrics: Metrics = current_app.extensions[EXTENSION]
    rule = request.url_rule
    # The rule rather than the path, since paths contain ids.
    route = rule.rule if rule is not None else "(none)"
    method = request.method if request.method in METHODS else "(other)"
    seconds = time.perf_counter() - g.started
    metrics.observe(route, method, response.status_code, seconds)
    return response


@every_process()
def write_page() -> None:
    """Write the page that the other processes of this host read."""
    if (metrics := current_app.extensions.get(EXTENSION)) is not None:
        metrics.write_page()


class Metrics:
    """The metrics of this process, of the others on this host, and of the instance.

    The library's own multiprocess mode maps files into memory, so a full disk would end processes.
    """

    def __init__(self, app: Flask) -> None:
        from prometheus_client import Counter, Histogram, disable_created_metrics
        from prometheus_client.process_collector import ProcessCollector

        # Nothing uses these times, and `merge` would write their type twice. The library gives
        # this function no types.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._app = app
        self._lock = threading.Lock()
        self._name = f"{os.getpid()}-{secrets.token_hex(3)}"
        self._folder = current_settings(app).instance_path / "metrics"
        self._requests: Histogram = Histogram(
            "testimonials_request_seconds",
            "Requests and how long they took, without those answered from memory.",
            ["route", "method", "status"],
            buckets=BUCKETS,
            registry=None,
        )
        self._refused: Counter = Counter(
            "testimonials_failed_sign_ins", "Sign-ins that were refused.", registry=None
        )
        self._process = ProcessCollector(registry=None)

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).observe(seconds)
        if (route, method) == SIGN_IN and 400 <= status < 500:
            self._refused.inc()

    def collect(self) -> Iterator["Metric"]:
        own = [*self._collect_process()]
        # Whoever answers next shows no less, which Prometheus would take for a restart.
        self.write_page()
        yield from merge([*own, *self._read_others()])
        yield from self._collect_host()
        try:
            rows = [*self._collect_mail(), *self._collect_jobs()]
        except SQLAlchemyError:
            db.session.rollback()
            rows = []
        yield _gauge("testimonials_database_up", "Whether the database answers.", {(): bool(rows)})
        yield from rows

    def write_page(self) -> None:
        """Write this process's page atomically, or not at all on a full disk."""
        target = self._folder / f"{self._name}{ENDING}"
        draft = target.with_suffix(".new")
        with self._lock, contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            draft.write_bytes(_write(list(self._collect_process())))
            draft.replace(target)

    def _read_others(self) -> Iterator["Metric"]:
        from prometheus_client.parser import text_string_to_metric_families

        for path in sorted(self._folder.glob(f"*{ENDING}")):
            if path.stem == self._name:
                continue
            with contextlib.suppress(OSError, ValueError):
                if time.time() - path.stat().st_mtime > OLD_SECONDS:
                    path.unlink()
                    continue
                yield from text_string_to_metric_families(path.read_text(encoding="utf-8"))

    def _collect_process(self) -> Iterator["Metric"]:
        ticker: Ticker | None = self._app.extensions.get(TICKER)
        widget = _counter(
            "testimonials_widget_answers_from_memory",
            "Answers from memory (widget, script, wall) that never reached the application.",
            ticker.read() if ticker is not None else 0,
        )
        own = (self._requests, self._refused, self._process)
        for family in (widget, *(family for each in own for family in each.collect())):
            family.samples = [
                sample._replace(labels=dict(sample.labels) | {"process": self._name})
                for sample in family.samples
            ]
            yield family

    def _collect_host(self) -> Iterator["Metric"]:
        free = "Free space where data is kept: on the fullest disk, if there are several."
        yield _gauge("testimonials_disk_free_bytes", free, {(): measure_free()})
        restarts: Callable[[], int] = self._app.extensions.get(RESTARTS, int)
        words = "Workers restarted after they died, since the service was started."
        yield _counter("testimonials_worker_restarts", words, restarts())
        if current_settings(self._app).ratelimit_storage_url:
            words = "Whether Redis accepts counts, if rate limits are counted there."
            yield _gauge("testimonials_redis_up", words, {(): limiter.can_count()})

    def _collect_mail(self) -> Iterator["Metric"]:
        states: Values = {
            (str(state),): count for state, count in count_mails(db.session()).items()
        }
        yield _gauge("testimonials_outbox_mails", "Emails in the outbox by state.", states, "state")
        _, age = measure_waiting(db.session())
        yield _gauge(
            "testimonials_outbox_oldest_seconds",
            "The age of the oldest email that has not been sent, refused ones included.",
            {(): age.total_seconds()},
        )

    def _collect_jobs(self) -> Iterator["Metric"]:
        jobs = list_jobs()
        for word, attribute in (("success", "finished_at"), ("failure", "failed_at")):
            times: Values = {
                (job.id,): time_of.timestamp()
                for job in jobs
                if (time_of := getattr(job, attribute))
            }
            yield _gauge(
                f"testimonials_job_last_{word}_timestamp_seconds",
                f"When a background job last ended with {word}.",
                times,
                "job",
            )


def _write(families: Iterable["Metric"]) -> bytes:
    from prometheus_client import generate_latest

    return bytes(generate_latest(_Collected(families)))


def _gauge(name: str, words: str, values: Values, *labels: str) -> "Metric":
    from prometheus_client.metrics_core import GaugeMetricFamily

    family = GaugeMetricFamily(name, words, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _counter(name: str, words: str, value: float) -> "Metric":
    from prometheus_client.metrics_core import CounterMetricFamily

    return CounterMetricFamily(name, words, value=value)


class _Collected(NamedTuple):
    """A registry of families that have been collected already."""

    families: Iterable["Metric"]

    def collect(self) -> Iterable["Metric"]:
        return self.families


def merge(families: Iterable["Metric"]) -> Iterator["Metric"]:
    """Merge families of the same name, as the format requires."""
    merged: dict[str, Metric] = {}
    for family in families:
        merged.setdefault(family.name, family)
        if merged[family.name] is not family:
            merged[family.name].samples += family.samples
    yield from merged.values()
