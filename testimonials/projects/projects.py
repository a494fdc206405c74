"""Creating, finding and listing projects; their slugs and limits."""

import functools
import re
import secrets
import string
import unicodedata
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, and_, delete, func, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.auth.accounts import delete_expired_accounts, is_live, lock_where
from testimonials.auth.billing import find_plan
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.erasure import PROJECT, note_erased
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.http.answers import Cursor, Page, read_page
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed, require_found
from testimonials.core.http.fields import OneLine, Text
from testimonials.core.http.i18n import gettext, gettext_noop, prefer_language
from testimonials.core.late import Signal, read_routes
from testimonials.core.settings.table import current_settings
from testimonials.core.text import is_web_url, normalize
from testimonials.projects.defaults import SLUG_LENGTH, WIDGET_CONFIG, default_page_config, inherit
from testimonials.projects.events import PROJECT_CREATED
from testimonials.projects.models import OldSlug, Project, Suspension

# Slugs, the path segments of collection pages.

# Paths that are reserved in addition to those in the URL map.
PLANNED = frozenset(
    {
        "dashboard", "login", "logout", "signup", "forgot", "reset", "media", "metrics", "readyz",
        "invite", "unsubscribe",
    }
)  # fmt: skip


def make_slug(text: str) -> str:
    """Return the slug of `text`: lower-case ASCII letters and digits, and single dashes.

    It has at most 60 characters; it is empty if the text has no letter or digit of any script.
    """
    composed = normalize("NFKC", text[:500])
    letters = "".join(_transliterate(character) for character in composed)
    slug = re.sub(r"[^a-z0-9]+", "-", letters.lower()).strip("-")
    return slug[:SLUG_LENGTH].rstrip("-")


def random_slug() -> str:
    return f"project-{_random_letters()}"


def _random_letters() -> str:
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(6))


def reserved_slugs() -> frozenset[str]:
    """Return the first segments of the service's paths and of the base path."""
    base_path = current_settings().base_path
    return _own_slugs() | ({make_slug(base_path.split("/")[1])} if base_path else frozenset())


@functools.cache
def _own_slugs() -> frozenset[str]:
    segments = {route.rule.split("/")[1] for route in read_routes()} | {"static"}
    return PLANNED | {make_slug(segment) for segment in segments if segment[:1] not in ("", "<")}


def is_reserved(slug: str) -> bool:
    return slug in reserved_slugs()


def _transliterate(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        # Such as combining accents and joiners.
        return ""
    if unicodedata.category(character) in ("So", "Sk"):
        # Emoji, which would become their names.
        return " "
    # Imported here, since most names don't need its large tables.
    from anyascii import anyascii

    return anyascii(character) or " "


# The limits of an account's plan.


class ProjectLimitReached(ServiceError):
    status = 402
    meaning = "The account is at its limit of projects."
    remedy = "Ask the owner to delete one or to get more; `message` says where."


def count_projects(account_id: str) -> int:
    """Return how many projects the account has, including paused ones."""
    query = select(func.count(Project.id)).where(
        Project.account_id == account_id, Project.deleted_at.is_(None)
    )
    return int(db.session.scalar(query) or 0)


def require_room(account: Account) -> None:
    """Raise `ProjectLimitReached` if the locked account can have no more projects."""
    limit = project_limit_of(account)
    if count_projects(account.id) >= limit:
        url = more_projects_url(account.id)
        raise ProjectLimitReached(
            gettext_noop(
                "This account is at its limit of %(limit)s projects. Delete one in the dashboard, "
                "or get more here: %(url)s"
            )
            if url
            else gettext_noop(
                "This account is at its limit of %(limit)s projects. Delete one in the dashboard, "
                "or ask the operator of this service for more."
            ),
            values={"limit": limit, "url": url},
        )


def project_limit_of(account: Account) -> int:
    """Return the limit set by the operator for the account, else its plan's, else the default."""
    if account.project_limit is not None:
        return account.project_limit
    plan = find_plan(account.plan)
    return current_settings().project_limit if plan is None else plan.projects


def more_projects_url(account_id: str) -> str | None:
    url = current_settings().more_projects_url
    return url.replace("{account}", account_id) or None


def names_service(project: Project) -> bool:
    """Return whether mail to the project's visitors and customers mentions the service."""
    if not any(plan.is_unbranded for plan in current_settings().plans):
        return True
    plan = find_plan(
        db.session.scalar(select(Account.plan).where(Account.id == project.account_id))
    )
    return plan is None or not plan.is_unbranded


LISTED_PROJECTS = 50
SLUG_KEPT = timedelta(days=90)
# How many of a project's old slugs are kept.
MOST_OLD_SLUGS = 20


class SlugTaken(ServiceError):
    meaning = "Another project has this slug."
    remedy = "Choose another, or leave it out."
    default_message = "This slug is already taken. Please choose a different one."


class SlugReserved(ServiceError):
    meaning = "The service itself uses this slug."
    remedy = "Choose another, or leave it out."
    default_message = gettext_noop(
        "The slug %(slug)s is reserved for the service itself. Choose a different one."
    )


# Sent with a new project, and whether it gets samples (`has_samples`).
project_created = Signal()


def create_project(
    account_id: str,
    values: dict[str, Any],
    *,
    skips_samples: bool = False,
    finds_slug: bool = False,
) -> Project:
    """Create a project from loaded `values`, by their names in the API.

    The account's very first project gets samples, unless `values` or else `skips_samples` says
    otherwise. With `finds_slug`, its slug is the first free one for its name. Raises
    `ValidationFailed`, `SlugReserved`, `SlugTaken` and `ProjectLimitReached`, before anything is
    written.
    """
    business_name = values.get("businessName", "")
    website = complete_website(values.get("website", ""))
    slug = None if finds_slug else choose_slug(values.get("slug"), business_name)
    account = lock_account(account_id)
    # Frees the slugs of expired accounts.
    delete_expired_accounts()
    require_room(account)
    if slug and is_held(slug, None):
        raise _slug_taken()
    now = clock.now()
    page_config = inherit(default_page_config(business_name)) | {"website": website}
    page_config |= {name: values[name] for name in ("headline", "description") if name in values}
    project = _insert(
        Project(
            account_id=account_id,
            business_name=business_name,
            slug=slug or "",
            page_config=page_config,
            widget_config=inherit(WIDGET_CONFIG),
            brand=values.get("brand", {}),
            created_at=now,
            updated_at=now,
        ),
        finds_slug=finds_slug,
    )
    is_first = not account.has_created_project
    account.has_created_project = True
    db.session.flush()
    skips_samples = values.get("skipDemoTestimonials", skips_samples)
    project_created.send(project, has_samples=is_first and not skips_samples)
    record(PROJECT_CREATED, project, name=project.name)
    return project


def is_shown() -> ColumnElement[bool]:
    """Return the condition that a project is public; the query must join the account."""
    return and_(Project.deleted_at.is_(None), is_live())


def find_public_project(*, slug: str) -> Project:
    """Return the public project with this slug, and use its language. Raises `NotFound`."""
    query = select(Project).join(Account).where(Project.slug == slug.lower(), is_shown())
    project = db.session.scalars(query).one_or_none() if "\0" not in slug else None
    if project is None:
        raise NotFound(gettext_noop("It may have moved, or the address may be mistyped."))
    prefer_language(project.whole_page_design["language"])
    return project


def lock_project(project_id: str) -> Project:
    query = select(Project).where(Project.id == project_id, Project.deleted_at.is_(None))
    return require_found(db.session.scalars(query.with_for_update()).one_or_none())


def get_project(reference: str) -> Project:
    """Return the project with this id, or else this slug. Raises `NotFound`.

    Ids come first, since a slug may look like another project's id.
    """
    project = (
        db.session.get(Project, reference)
        or db.session.scalars(select(Project).where(Project.slug == reference)).one_or_none()
    )
    return require_found(project, f"There is no project with the id or slug {reference}.")


def list_projects(account_id: str) -> Sequence[Project]:
    """Return the account's projects, most recent first, at most 50."""
    return read_projects(account_id).items


def read_projects(account_id: str, only_id: str | None = None, after: Cursor | None = None) -> Page:
    """Return a page of the account's projects, most recent first, or only that with `only_id`."""
    matches = true() if only_id is None else Project.id == only_id
    query = select(Project).where(
        Project.account_id == account_id, Project.deleted_at.is_(None), matches
    )
    return read_page(query, Project, LISTED_PROJECTS, after)


def list_all_projects() -> Sequence[Project]:
    return db.session.scalars(
        select(Project).order_by(Project.created_at.desc(), Project.id.desc())
    ).all()


def delete_project(project: Project) -> None:
    note_erased(db.session(), PROJECT, [project.id])
    db.session.execute(delete(Project).where(Project.id == project.id))


def lock_account(account_id: str) -> Account:
    account = lock_where(Account.id == account_id)
    return require_found(account, gettext_noop("The account has been removed."))


def lock_account_of(project_id: str) -> None:
    if is_identifier(project_id):
        owner = select(Project.account_id).where(Project.id == project_id).scalar_subquery()
        query = select(Account.id).where(Account.id == owner)
        db.session.execute(query.with_for_update(key_share=True))


def mark_changed(project: Project) -> None:
    """Raise the feed version after a change to what the widget or the API's list shows.

    It follows the clock, so that it increases even when an older backup is restored.
    """
    project.feed_version = max(project.feed_version + 1, clock.to_milliseconds(clock.now()))


def mark_edited(project: Project) -> None:
    """Flush an owner's change to the project, with a new `updated_at` and feed version."""
    project.updated_at = max(clock.now(), project.updated_at + clock.MILLISECOND)
    mark_changed(project)
    db.session.flush()


def complete_website(text: str) -> str:
    """Return a URL, with https:// added if it has no scheme; an empty text stays empty.

    Raises `ValidationFailed` for anything that isn't an http(s) URL.
    """
    if not text:
        return ""
    url = text if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) else f"https://{text}"
    if not is_web_url(url):
        wrong = "Must be an http:// or https:// address, such as example.com."
        raise ValidationFailed.of({"website": [wrong]})
    return url


class Website(OneLine):
    """An http(s) URL; https:// is added if it has no scheme."""

    form_messages: ClassVar[dict[str, str]] = Text.form_messages | {
        "url": gettext_noop("Enter a web address, such as example.com.")
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            url = complete_website(value.strip())
        except ValidationFailed:
            raise self.make_error("url") from None
        return super()._deserialize(url, attr, data, **kwargs)


def is_held(slug: str, project_id: str | None) -> bool:
    """Return whether another project had this slug less than 90 days ago."""
    query = select(OldSlug.project_id).where(
        OldSlug.slug == slug, OldSlug.renamed_at > clock.now() - SLUG_KEPT
    )
    return db.session.scalar(query) not in (None, project_id)


def choose_slug(text: str | None, business_name: str) -> str | None:
    """Return the slug to try, or None for a random one.

    Raises `ValidationFailed` and `SlugReserved`.
    """
    slug = make_slug(text if text is not None else business_name)
    if text is not None and not slug:
        wrong = gettext_noop("Must contain letters or digits.")
        raise ValidationFailed.of({"slug": [wrong]})
    if is_reserved(slug):
        message = gettext(SlugReserved.default_message, slug=slug)
        raise SlugReserved(message, errors={"slug": [message]})
    return slug or None


def find_free_slug(name: str) -> str | None:
    """Return a free slug for a name, with a number if necessary; None if it has no letters."""
    slug = make_slug(name)
    if not slug:
        return None
    # Each takes one or two queries, so random letters follow after some numbers.
    for end in ("", *(f"-{number}" for number in range(2, 21)), f"-{_random_letters()}"):
        candidate = slug[: SLUG_LENGTH - len(end)].rstrip("-") + end
        taken = select(Project.id).where(Project.slug == candidate)
        if not (is_reserved(candidate) or is_held(candidate, None) or db.session.scalar(taken)):
            return candidate
    raise AssertionError


def _insert(project: Project, *, finds_slug: bool) -> Project:
    """Insert the project; whoever commits first has the slug."""
    is_chosen = bool(project.slug)
    for _ in range(5):
        if not is_chosen:
            free = find_free_slug(project.business_name) if finds_slug else None
            project.slug = free or random_slug()
        try:
            with db.session.begin_nested():
                db.session.add(project)
        except IntegrityError:
            if is_chosen:
                break
            continue
        # A suspended account can't add projects, so this needs no query.
        set_committed_value(project, "held", Suspension.NONE.value)
        return project
    raise _slug_taken()


def _slug_taken() -> SlugTaken:
    return SlugTaken(errors={"slug": [SlugTaken.default_message]})


def name_owner(project: Project) -> str:
    """Return what authors see as the owner's name: the first name, else the project's name."""
    query = select(Account.display_name).where(Account.id == project.account_id)
    return ((db.session.scalar(query) or "").split() or [project.name])[0]
