"""What programs look for in the API and isn't there: where it is done instead."""

import re

from testimonials.core.urls import account_url, login_url, project_url

# Method, path, and where it is done: a page of the project, one of the account, or another call.
# {} is the page's URL.
PLACES = (
    (r"DELETE", r"projects/(\w+)", "settings", "The owner deletes a project in the dashboard: {}"),
    (
        r"PATCH|PUT|POST",
        r"projects/(\w+)",
        "settings",
        "The owner changes a project's address and status in the dashboard: {}. The page is "
        "changed by PATCH /v1/projects/:id/page-config, the widget by PATCH "
        "/v1/projects/:id/widget-config.",
    ),
    (
        r"POST|PUT|PATCH",
        r"projects/(\w+)/(?:testimonials|submissions)/\w+/(?:approve|reject|publish|hide|spam)",
        "inbox",
        "Decide by POST /v1/projects/:id/submissions/decisions; the owner does so in the "
        "dashboard: {}",
    ),
    (
        r"\w+",
        r"projects/(\w+)/(?:settings|status|slug|transfer|archive)",
        "settings",
        "The owner does this in the dashboard: {}",
    ),
    (
        r"\w+",
        r"projects/(\w+)/(?:import|imports|testimonials/import)",
        "import",
        "Files are imported in the dashboard: {}",
    ),
    (
        r"\w+",
        r"projects/(\w+)/(?:export|exports|testimonials/export)",
        "settings",
        "Files are exported in the dashboard: {}. GET /v1/projects/:id/testimonials lists all.",
    ),
    (
        r"\w+",
        r"projects/(\w+)/(?:team|members|invitations|users)(?:/.*)?",
        "team",
        "The owner invites colleagues in the dashboard: {}",
    ),
    (
        r"\w+",
        r"projects/(\w+)/notifications",
        "notifications",
        "Everybody chooses their own mails in the dashboard: {}",
    ),
    (
        r"POST|PUT|PATCH|DELETE",
        r"projects/(\w+)/widgets(?:/.*)?",
        "widgets",
        "Saved widgets are made and changed in the dashboard: {}",
    ),
    (
        r"\w+",
        r"(?:me|account|accounts)(?:/.*)?",
        "",
        "The owner changes or deletes the account in the dashboard: {}",
    ),
    (
        r"\w+",
        r"(?:tokens|access-tokens|keys|api-keys|auth/(?:tokens?|keys?))(?:/.*)?",
        "",
        "The owner makes access tokens in the dashboard, and replaces the account's key there: {}",
    ),
)
SIGN_IN = r"auth/(?:login|signin|sign-in|logout|claim|signup|sign-up|password|reset|refresh)"


def find_elsewhere(method: str, path: str) -> str | None:
    """Return where what a call seems to want is done, or None."""
    path = path.removeprefix("/v1/")
    for methods, pattern, page, text in PLACES:
        if re.fullmatch(methods, method) and (found := re.fullmatch(pattern, path)):
            return text.format(project_url(found[1], page) if page else account_url())
    if re.fullmatch(SIGN_IN, path):
        return f"People sign in with a browser: {login_url()}. Calls carry credentials in headers."
    return None
