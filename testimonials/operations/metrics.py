"""What a Prometheus server reads: what the processes answered, and how the instance stands.

The library is loaded only where the setting asks for it. What is counted belongs to one process
(the label `process`); what is read from the database is the same whichever process is asked.
"""

import hmac
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, current_app, g, request
from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from testimonials import __version__
from testimonials.core.counting import Ticker
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.mail.outbox import count_mails, measure_waiting
from testimonials.extensions import db, limiter
from testimonials.operations.health import measure_free
from testimonials.operations.shared_metrics import SharedPages, mark, merge
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Testimonial

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

EXTENSION = "testimonials_metrics"
TICKER = "testimonials_widget_answers"
# Tells how many workers of this service were started again after a death.
RESTARTS = "testimonials_worker_restarts"
SIGN_IN = ("/login", "POST")
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
NO_ROUTE = "(none)"
# Anybody may send any word as a method; each would be kept for as long as the process lives.
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
OTHER_METHOD = "(other)"
SQLITE_SIZE = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
POSTGRES_SIZE = "SELECT pg_database_size(current_database())"


def init_metrics(app: Flask) -> None:
    """Count the requests of `app`, if the setting asks for it."""
    if current_settings(app).metrics_token:
        app.extensions[EXTENSION] = Metrics(app)
        app.after_request(_observe)


def is_allowed() -> bool:
    """Tell whether the request carries the token; compared in constant time."""
    expected = f"Bearer {current_settings().metrics_token}"
    given = request.headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(), expected.encode())


def write_metrics() -> bytes | None:
    """Return the page, or None where metrics are switched off."""
    metrics: Metrics | None = current_app.extensions.get(EXTENSION)
    return metrics.write() if metrics is not None else None


def end_metrics(app: Flask) -> None:
    """Let the process that ran `app` leave nothing behind for its siblings to read."""
    metrics: Metrics | None = app.extensions.get(EXTENSION)
    if metrics is not None:
        metrics.end()


def _observe(response: Response) -> Response:
    metrics: Metrics = current_app.extensions[EXTENSION]
    rule = request.url_rule
    # The template: an address itself holds ids, and there are endlessly many.
    route = rule.rule if rule is not None else NO_ROUTE
    method = request.method if request.method in METHODS else OTHER_METHOD
    seconds = time.perf_counter() - g.started
    metrics.observe(route, method, response.status_code, seconds)
    return response


class Metrics:
    """The metrics of one application: its process's own, those of its siblings, the instance's."""

    def __init__(self, app: Flask) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram
        from prometheus_client.process_collector import ProcessCollector

        self._app = app
        self._pages = SharedPages(current_settings(app).instance_path / "metrics", self._write_own)
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
        self._registry: CollectorRegistry = CollectorRegistry()
        self._registry.register(self)

    def end(self) -> None:
        """Stop writing this process's page for its siblings."""
        self._pages.end()

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._pages.keep()
        self._requests.labels(route, method, str(status)).observe(seconds)
        if (route, method) == SIGN_IN and 400 <= status < 500:
            self._refused.inc()

    def write(self) -> bytes:
        """Return everything in Prometheus' text format."""
        from prometheus_client import generate_latest

        return bytes(generate_latest(self._registry))

    def describe(self) -> list["Metric"]:
        """Spare the library a first reading of the database."""
        return []

    def collect(self) -> Iterator["Metric"]:
        """Return what is read at the moment of asking."""
        yield from merge([*self._collect_process(), *self._pages.read_others()])
        yield from self._collect_build()
        yield from self._collect_host()
        try:
            found = [*self._collect_mail(), *self._collect_jobs(), *self._collect_data()]
        except SQLAlchemyError:
            db.session.rollback()
            found = []
        yield _gauge("testimonials_database_up", "Whether it answers.", {(): bool(found)})
        yield from found

    def _write_own(self) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(_Given(list(self._collect_process())))
        return bytes(generate_latest(registry))

    def _collect_process(self) -> Iterator["Metric"]:
        ticker: Ticker | None = self._app.extensions.get(TICKER)
        widget = _counter(
            "testimonials_widget_answers_from_memory",
            "Answers with the widget's data that never reached the application.",
            ticker.read() if ticker is not None else 0,
        )
        families = (self._requests, self._refused, self._process)
        for family in (widget, *(each for found in families for each in found.collect())):
            yield mark(family, self._pages.name)

    def _collect_build(self) -> Iterator["Metric"]:
        labels = {"version": __version__, "python": platform.python_version()}
        labels |= {"database": db.engine.dialect.name}
        yield _gauge("testimonials_build_info", "What runs.", {labels_of(labels): 1})

    def _collect_host(self) -> Iterator["Metric"]:
        free = "The room where data is kept: on the fullest disk, if there are several."
        yield _gauge("testimonials_disk_free_bytes", free, {(): measure_free()})
        restarts: Callable[[], int] = self._app.extensions.get(RESTARTS, int)
        words = "Workers started again after a death, since the service was started."
        yield _counter("testimonials_worker_restarts", words, restarts())
        if current_settings(self._app).ratelimit_storage_url:
            words = "Whether Redis counts, where requests are counted in it."
            yield _gauge("testimonials_redis_up", words, {(): limiter.can_count()})

    def _collect_mail(self) -> Iterator["Metric"]:
        states = {labels_of({"state": state}): n for state, n in count_mails(db.session()).items()}
        yield _gauge("testimonials_outbox_mails", "Mails in the outbox by state.", states)
        _, age = measure_waiting(db.session())
        yield _gauge(
            "testimonials_outbox_oldest_seconds",
            "How old the oldest mail is that has not left, refused ones included.",
            {(): age.total_seconds()},
        )

    def _collect_jobs(self) -> Iterator["Metric"]:
        jobs = db.session.scalars(select(BackgroundJob)).all()
        for word, attribute in (("success", "finished_at"), ("failure", "failed_at")):
            times = {
                labels_of({"job": job.name}): time_of.timestamp()
                for job in jobs
                if (time_of := getattr(job, attribute)) is not None
            }
            yield _gauge(
                f"testimonials_job_last_{word}_timestamp_seconds",
                f"When a background job last ended with {word}.",
                times,
            )

    def _collect_data(self) -> Iterator["Metric"]:
        rows = db.session.execute(
            select(Testimonial.status, func.count()).group_by(Testimonial.status)
        )
        counts = {labels_of({"status": str(row[0])}): int(row[1]) for row in rows}
        yield _gauge("testimonials_testimonials", "Testimonials by status.", counts)
        is_sqlite = db.engine.dialect.name == "sqlite"
        size = db.session.scalar(text(SQLITE_SIZE if is_sqlite else POSTGRES_SIZE))
        yield _gauge("testimonials_database_bytes", "The size of the database.", {(): size or 0})


Labels = tuple[tuple[str, str], ...]


def labels_of(values: dict[str, str]) -> Labels:
    """Return labels in a form that can be a key."""
    return tuple(values.items())


def _gauge(name: str, words: str, values: Mapping[Any, float]) -> "Metric":
    from prometheus_client.metrics_core import GaugeMetricFamily

    names = [label for label, _ in next(iter(values), ())]
    family = GaugeMetricFamily(name, words, labels=names)
    for labels, value in values.items():
        family.add_metric([text for _, text in labels], value)
    return family


def _counter(name: str, words: str, value: float) -> "Metric":
    from prometheus_client.metrics_core import CounterMetricFamily

    return CounterMetricFamily(name, words, value=value)


class _Given:
    """Hands out families that are there already."""

    def __init__(self, families: list["Metric"]) -> None:
        self._families = families

    def collect(self) -> list["Metric"]:
        return self._families
