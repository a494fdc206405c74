"""What the inbox says after a decision, and after one was undone."""

from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop, ngettext
from testimonials.testimonials.moderation.undoing import Step, Undone

# What was done to one testimonial, by the action; "" is anything else.
TO_ONE = {
    "approve": gettext_noop("Approved %(name)s"),
    "take_down": gettext_noop("Took down %(name)s"),
    "reject": gettext_noop("Rejected %(name)s"),
    "pin": gettext_noop("Pinned %(name)s"),
    "unpin": gettext_noop("Unpinned %(name)s"),
    "delete": gettext_noop("Deleted %(name)s"),
    "restore": gettext_noop("Restored %(name)s"),
    "spam": gettext_noop("Marked %(name)s as spam"),
    "release": gettext_noop("Moved %(name)s to Pending"),
    "edit": gettext_noop("Edited %(name)s"),
    "tag": gettext_noop("Changed the tags of %(name)s"),
    "highlight": gettext_noop("Changed the highlights of %(name)s"),
    "reply": gettext_noop("Changed the reply to %(name)s"),
    "": gettext_noop("Changed %(name)s"),
}
# The forms of each sentence for a number.
TO_MANY = {
    "approve": lambda num: ngettext(
        "Approved %(num)s testimonial", "Approved %(num)s testimonials", num
    ),
    "take_down": lambda num: ngettext(
        "Took down %(num)s testimonial", "Took down %(num)s testimonials", num
    ),
    "reject": lambda num: ngettext(
        "Rejected %(num)s testimonial", "Rejected %(num)s testimonials", num
    ),
    "pin": lambda num: ngettext("Pinned %(num)s testimonial", "Pinned %(num)s testimonials", num),
    "unpin": lambda num: ngettext(
        "Unpinned %(num)s testimonial", "Unpinned %(num)s testimonials", num
    ),
    "delete": lambda num: ngettext(
        "Deleted %(num)s testimonial", "Deleted %(num)s testimonials", num
    ),
    "restore": lambda num: ngettext(
        "Restored %(num)s testimonial", "Restored %(num)s testimonials", num
    ),
    "spam": lambda num: ngettext(
        "Marked %(num)s testimonial as spam", "Marked %(num)s testimonials as spam", num
    ),
    "release": lambda num: ngettext(
        "Moved %(num)s testimonial to Pending", "Moved %(num)s testimonials to Pending", num
    ),
    "edit": lambda num: ngettext("Edited %(num)s testimonial", "Edited %(num)s testimonials", num),
    "tag": lambda num: ngettext(
        "Changed the tags of %(num)s testimonial", "Changed the tags of %(num)s testimonials", num
    ),
    "highlight": lambda num: ngettext(
        "Changed the highlights of %(num)s testimonial",
        "Changed the highlights of %(num)s testimonials",
        num,
    ),
    "reply": lambda num: ngettext(
        "Changed the reply to %(num)s testimonial", "Changed the reply to %(num)s testimonials", num
    ),
    "": lambda num: ngettext("Changed %(num)s testimonial", "Changed %(num)s testimonials", num),
}


def report_action(action: str, was: str, what: str | int) -> str:
    """Say what was done to `what`, a name or a number, that had the status `was`."""
    if action == "reject" and was == "approved":
        action = "take_down"
    known = action if action in TO_ONE else ""
    if isinstance(what, str):
        return _(TO_ONE[known], name=what)
    return TO_MANY[known](what)


def describe_step(step: Step) -> str:
    """Say what a step did, as its notice said it."""
    what = step.author_name if step.count == 1 else step.count
    return report_action(step.action, step.was, what)


def describe_undone(undone: Undone, left: int) -> str:
    """Say what was undone, what was passed over, and how many steps are left."""
    step, passed = undone.step, len(undone.passed)
    parts = [_("Undid: %(change)s.", change=describe_step(step))]
    if undone.count < step.count:
        parts.append(
            ngettext(
                "%(num)s of them was changed since.",
                "%(num)s of them were changed since.",
                step.count - undone.count,
            )
        )
    if passed:
        parts.insert(0, _tell_passed(describe_step(undone.passed[0]), passed))
    if left:
        parts.append(ngettext("%(num)s more can be undone", "%(num)s more can be undone", left))
    else:
        parts.append(_("That was the last"))
    return " ".join(parts)


def _tell_passed(first: str, count: int) -> str:
    if count == 1:
        return _("Not undone, as it was changed since: %(change)s.", change=first)
    return ngettext(
        "%(num)s change was not undone: others changed the same since.",
        "%(num)s changes were not undone: others changed the same since.",
        count,
    )
