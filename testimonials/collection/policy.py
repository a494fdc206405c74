"""How a project collects: a page whose sentences are made from what it does and counts.

None is made from what somebody wrote, but for the text of a reward. Each holds for as long as its
setting, so the page is never edited.
"""

from collections import Counter

from flask import render_template
from sqlalchemy import and_, exists, func, select

from testimonials.collection.models import MailedRequest
from testimonials.collection.page_data import describe_page, describe_steps
from testimonials.core.audit import Event
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import collection
from testimonials.core.http.i18n import (
    PARAMETER,
    asked_language,
    format_number,
    gettext_noop,
    isolate,
    ngettext,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import policy_url
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Project
from testimonials.projects.page_design import write_offer
from testimonials.projects.projects import find_public_project
from testimonials.testimonials.counts import count_genuine, count_where, read_numbers
from testimonials.testimonials.models import OVERDUE_DAYS, REASONS, Testimonial, TestimonialCount
from testimonials.widget.container import WHOLE
from testimonials.widget.selection import read_content
from testimonials.widget.settings import list_saved, read_settings
from testimonials.widget.words import write_dates

Sentences = list[str]

SOURCES = {
    "public_page": gettext_noop("Written by visitors: %(count)s."),
    "manual": gettext_noop("Written in by us, or sent by a program of ours: %(count)s."),
    "import": gettext_noop("Imported from elsewhere: %(count)s."),
}
WAITING = gettext_noop(
    "Waiting for us to decide: %(count)s. They count after %(days)s days at the latest."
)
HELD = gettext_noop("Held by the spam check: %(count)s. They count once a person lets them in.")
# How many were set aside for each reason.
ASIDE = {
    "spam": gettext_noop("Set aside because they are spam: %(count)s."),
    "abusive": gettext_noop("Set aside because they are abusive or unlawful: %(count)s."),
    "off_topic": gettext_noop("Set aside because they are off topic: %(count)s."),
    "not_customer": gettext_noop("Set aside because the author is not a customer: %(count)s."),
    "same_person": gettext_noop("Set aside because the same person wrote twice: %(count)s."),
    "withdrawn": gettext_noop("Withdrawn by their authors: %(count)s."),
}


@collection.get("/<slug>/how-we-collect")
def show_policy(slug: str) -> str:
    """Show how the project collects, to everybody."""
    project = find_public_project(slug=slug)
    url, language = policy_url(project.slug, project.own_host), asked_language()
    page = describe_page(project) | {
        "canonical": f"{url}?{PARAMETER}={language.code}" if language else url
    }
    return render_template("collection/policy.html", sections=describe_policy(project), **page)


def describe_policy(project: Project) -> dict[str, Sentences]:
    """Return the sentences about the project by the heading that they stand below."""
    shown = _count_shown(project)
    return {
        _("Who may write"): _tell_who(project, shown),
        _("Purchases"): _tell_purchases(project, shown),
        _("What is shown"): _tell_shown(project, shown),
        _("What is counted"): _tell_counted(project, shown),
        _("Thank-yous"): _tell_rewards(project, shown),
        _("People who work here"): _tell_insiders(project, shown),
        _("Changes and translations"): _tell_changes(shown),
        _("How long it is kept"): _tell_kept(),
    }


def _count_shown(project: Project) -> Counter[str]:
    """Count what is shown, without samples, and what is marked of it.

    And tell whether anybody was asked by mail, and whether anything was ever set aside.
    """
    of = Testimonial
    conditions = {
        "all": of.id.is_not(None),
        "verified": of.purchase_verified_at.is_not(None),
        "mailed": and_(
            of.purchase_verified_at.is_not(None),
            exists().where(MailedRequest.testimonial_id == of.id),
        ),
        "insider": of.is_insider,
        "rewarded": of.is_rewarded,
        "translated": of.translated_from.is_not(None),
        "edited": and_(of.translated_from.is_(None), of.original_text != of.text),
    }
    known = {
        "asked": exists().where(MailedRequest.project_id == project.id),
        "reasons": exists().where(Event.project_id == project.id, Event.reason.is_not(None)),
    }
    counts = (func.count().filter(each) for each in conditions.values())
    query = select(*counts, *(select(each).scalar_subquery() for each in known.values())).where(
        of.project_id == project.id, of.is_visible, of.status != "demo"
    )
    found = map(int, db.session.execute(query).one())
    return Counter(dict(zip((*conditions, *known), found, strict=True)))


def _tell_who(project: Project, shown: Counter[str]) -> Sentences:
    if not project.is_open:
        return [_("Nobody can write now: the page takes no testimonials at the moment.")]
    told = [
        _("Anybody who has the address of our page can write on it, without an account."),
        _("The form is the same for everybody, whichever stars are chosen."),
    ]
    if shown["asked"]:
        told.append(_("We also ask people by email to write."))
    return told


def _tell_purchases(project: Project, shown: Counter[str]) -> Sentences:
    if not (shown["verified"] or project.purchase_secret):
        return [_("We have no proof that those who are shown here bought something.")]
    told = [
        _(
            "“Verified customer” means that the author came by a link that was made for one order "
            "and works for one testimonial."
        ),
        _("Of those shown, so many are proved in this way: %(count)s of %(all)s.",
          count=format_number(shown["verified"]), all=format_number(shown["all"])),
    ]  # fmt: skip
    if shown["mailed"]:
        told.append(
            _("Of these, so many came by a link that we mailed about their order: %(count)s.",
              count=format_number(shown["mailed"]))
        )  # fmt: skip
    return told


def _tell_shown(project: Project, shown: Counter[str]) -> Sentences:
    genuine, told = count_genuine(project).genuine, []
    if shown["all"] >= genuine:
        told.append(_("Our page of testimonials shows every genuine one that we received."))
    else:
        told.append(
            _("Our page of testimonials shows a selection: %(count)s of %(all)s genuine ones.",
              count=format_number(shown["all"]), all=format_number(genuine))
        )  # fmt: skip
    settings = [read_settings(project), *map(read_settings, list_saved(project))]
    contents = [read_content(each.design, WHOLE) for each in settings]
    if least := max(each.min_rating for each in contents):
        told.append(
            _("Something that we put on websites shows only ratings of %(stars)s stars and more.",
              stars=f"{least:g}")
        )  # fmt: skip
    if any(each.tags or each.min_length or each.is_only_chosen for each in contents):
        told.append(
            _("Something that we put on websites shows only what we picked, or longer words.")
        )
    if count_where(project.id, TestimonialCount.status == "demo", ~TestimonialCount.is_deleted):
        told.append(
            _("Among them are samples, which nobody sent. They are marked, and never counted.")
        )
    return told


def _tell_average(project: Project) -> str:
    numbers = read_numbers(project)
    if numbers.is_old and project.numbers_from:
        day = write_dates([project.numbers_from.date().isoformat()], "absolute", is_long=True)[0]
        return _(
            "Until %(date)s at the latest, the average counts only ratings that we approved.",
            date=day,
        )
    return _(
        "The average counts every genuine rating, also of what isn’t shown: %(count)s.",
        count=format_number(numbers.number),
    )


def _tell_counted(project: Project, shown: Counter[str]) -> Sentences:
    of = TestimonialCount
    query = select(of.standing, of.source, func.sum(of.number)).where(of.project_id == project.id)
    found: Counter[str] = Counter()
    for standing, source, number in db.session.execute(query.group_by(of.standing, of.source)):
        found[source if standing == "genuine" else standing] += int(number)
    numbers = {name: format_number(number) for name, number in found.items() if number}
    told = [
        _tell_average(project),
        *(_(text, count=numbers.get(source, "0")) for source, text in SOURCES.items()),
        _(
            "Only its author changes a visitor’s stars. They count even if we delete the words, "
            "unless for a reason that we give. What we wrote in or imported we can change and "
            "delete."
        ),
    ]
    if "waiting" in numbers:
        told.append(_(WAITING, count=numbers["waiting"], days=OVERDUE_DAYS))
    if "held" in numbers:
        told.append(_(HELD, count=numbers["held"]))
    aside = [_(ASIDE[each], count=numbers[each]) for each in REASONS if each in numbers]
    if not (aside or shown["reasons"]):
        return [*told, _("We have set none aside.")]
    return [*told, *aside, _("What was set aside is counted here until it is deleted for good.")]


def _tell_rewards(project: Project, shown: Counter[str]) -> Sentences:
    told: Sentences = []
    for step in describe_steps(project.open_steps if project.is_open else []):
        if step["kind"] != "code":
            continue
        offer, until = write_offer(step), step["last_day"]
        said = (
            _(
                "Everybody who writes until %(date)s gets this, whatever they say: “%(offer)s”",
                date=until,
                offer=offer,
            )
            if until
            else _("Everybody who writes gets this, whatever they say: “%(offer)s”", offer=offer)
        )
        told.append(isolate(said, offer))
    told = told or [_("Nobody is promised anything for writing now.")]
    if shown["rewarded"]:
        told.append(
            _("Shown, and marked because the author was promised a thank-you: %(count)s.",
              count=format_number(shown["rewarded"]))
        )  # fmt: skip
    return told


def _tell_insiders(project: Project, shown: Counter[str]) -> Sentences:
    asks = project.whole_page_design["asksInsider"]
    told = [
        _("The form asks whether authors work here or are related.")
        if asks
        else _("The form doesn’t ask whether authors work here or are related.")
    ]
    if project.page_config["website"]:
        told.append(_("Who writes with an email address of our website is marked in any case."))
    if not shown["insider"]:
        none = _("Nothing shown here is known to be by somebody who works here or is related.")
        return [*told, none]
    marked = _(
        "Shown, and marked because the author works here or is related: %(count)s.",
        count=format_number(shown["insider"]),
    )
    return [*told, marked]


def _tell_changes(shown: Counter[str]) -> Sentences:
    told = []
    if shown["translated"]:
        told.append(
            _("Shown in a translation, and marked: %(count)s.",
              count=format_number(shown["translated"]))
        )  # fmt: skip
    if shown["edited"]:
        told.append(
            _("Shown in other words than were first sent: %(count)s. Where they aren’t the "
              "author’s own, a mark says so.", count=format_number(shown["edited"]))
        )  # fmt: skip
    return told or [_("What is shown stands in its author’s own words.")]


def _tell_kept() -> Sentences:
    told, days = (
        [_("Authors can change, withdraw or erase their words by a link of their own.")],
        (current_settings().trash_days),
    )
    if days:
        told.append(
            ngettext(
                "What is deleted is gone for good after a day.",
                "What is deleted is gone for good after %(num)s days.",
                max(1, round(days)),
            )
        )
    return told
