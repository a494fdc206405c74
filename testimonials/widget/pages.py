"""The widget's own page, its fragment, oEmbed, JSON Feed and newsletter."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from flask import Response, current_app, g, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup
from werkzeug.exceptions import HTTPException

from testimonials.core.http import urls
from testimonials.core.http.answers import dump_json
from testimonials.core.http.blueprints import wall, widget
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.i18n import PARAMETER, gettext, speaking
from testimonials.core.http.urls import own_hosts
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project, names_service
from testimonials.widget.cache import FRAMES, keep_page
from testimonials.widget.container import Selection, add_query, read_limit, read_selection
from testimonials.widget.embed import (
    container_attributes,
    frame_height,
    reserve_space,
    script_query,
)
from testimonials.widget.formats import (
    IN_NEWSLETTER,
    choose_items,
    describe_json_feed,
    render_newsletter,
)
from testimonials.widget.render import Still, render_page, render_still, shadow_styles
from testimonials.widget.settings import find_settings, find_shown_project
from testimonials.widget.wall import describe_ratings, find_shown_testimonial

# oEmbed (oembed.com): what a website shows when the URL of one of our pages is pasted into it.

WIDTH = 640
# WordPress keeps only these attributes. It listens to a frame only if a quotation precedes it, and
# shows that until the frame has sent its height.
HTML = Markup(
    '<blockquote><a href="{}">{}</a></blockquote>'
    '<iframe src="{}" title="{}" width="{}" height="{}" frameborder="0"></iframe>'
)


class FormatUnknown(ServiceError):
    status = 501
    code = "FORMAT_NOT_IMPLEMENTED"
    default_message = "Only format=json is implemented."


def describe_embed(arguments: Mapping[str, str]) -> tuple[Project, dict[str, Any]]:
    """Return the project and oEmbed's answer to these parameters: a frame with the widget's page.

    Raises `ValidationFailed`, `FormatUnknown` and `NotFound`.
    """
    limits = _read_sizes(arguments)
    if arguments.get("format", "json") != "json":
        raise FormatUnknown
    project, selection = find_page(arguments.get("url", ""))
    shape = find_settings(project, selection.widget).design["shape"]
    height = frame_height(selection.with_shape(shape))
    height = min(limits["maxheight"] or height, height)
    width = min(limits["maxwidth"] or WIDTH, WIDTH)
    title = gettext("What customers say about %(name)s", name=project.name)
    address = add_query(urls.widget_page_url(project.id), selection.query)
    answer = {
        "version": "1.0",
        "type": "rich",
        "title": title,
        "author_name": project.name,
        "author_url": urls.wall_url(project.slug, project.own_host),
        "provider_name": "Testimonials" if names_service(project) else project.name,
        "provider_url": urls.app_url(),
        "width": width,
        "height": height,
        # An extension for the WordPress plugin.
        "reserve": reserve_space(project, selection),
        "html": HTML.format(
            urls.wall_url(project.slug, project.own_host), title, address, title, width, height
        ),
    }
    return project, answer


def find_page(address: str) -> tuple[Project, Selection]:
    """Return the project and selection that our page at this URL shows; raise `NotFound`."""
    try:
        parts = urlsplit(address)
        values = dict(parse_qsl(parts.query, max_num_fields=20))
        if parts.scheme not in ("http", "https") or len(address) > 2_000:
            raise NotFound("This is not the address of one of our pages.")
        if (own := own_hosts().find(parts.netloc)) is not None:
            return _match(own.to_inner(parts.path), values)
        is_ours = parts.netloc.lower() in {urlsplit(url).netloc for url in urls.own_origins()}
        if not is_ours or not parts.path.startswith(f"{urls.base_path()}/"):
            raise NotFound("This is not the address of one of our pages.")
        return _match(parts.path.removeprefix(urls.base_path()), values)
    except (ValueError, HTTPException, ValidationFailed):
        raise NotFound("There is nothing to embed at this address.") from None


def _match(path: str, values: dict[str, str]) -> tuple[Project, Selection]:
    endpoint, arguments = current_app.url_map.bind("").match(path, method="GET")
    if endpoint == "wall.show_widget":
        return find_shown_project(arguments["project_id"]), read_selection(values)
    if not endpoint.startswith("wall.") or "slug" not in arguments:
        raise NotFound("There is nothing to embed at this address.")
    values = {name: values.get(name, "") for name in ("tag", "min")}
    project = find_public_project(slug=arguments["slug"])
    selection = read_selection(values | {"id": arguments.get("testimonial_id", "")})
    if selection.testimonial_id:
        find_shown_testimonial(project, selection.testimonial_id)
    return project, selection


def _read_sizes(arguments: Mapping[str, str]) -> dict[str, int]:
    sizes = {name: arguments.get(name, "") for name in ("maxwidth", "maxheight")}
    errors = {
        name: ["Must be a number of pixels from 1 to 99999."]
        for name, text in sizes.items()
        if text and not re.fullmatch("[1-9][0-9]{0,4}", text)
    }
    if not arguments.get("url"):
        errors["url"] = ["Is required: the address of a widget's page or of a wall."]
    if errors:
        raise ValidationFailed.of(errors)
    return {name: int(text or 0) for name, text in sizes.items()}


# Testimonials in other formats, for anybody to fetch.

# A browser applies the inline styles, and runs no scripts.
NEWSLETTER_POLICY = (
    "default-src 'none'; style-src-attr 'unsafe-inline'; img-src https: http:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@widget.get("/widget/<project_id>/newsletter")
def get_newsletter(project_id: str) -> Response:
    """Serve HTML to paste into a newsletter, with three testimonials or ``?limit=``.

    Takes ``?id=``, ``?tag=``, ``?min=``, ``?widget=``, ``?theme=dark`` and ``?lang=``.
    """
    project = find_shown_project(project_id)
    keep_page(project)
    chosen = choose_items(project, request.args, IN_NEWSLETTER)
    with speaking(_read_language(project)):
        response = _answer(render_newsletter(chosen), "text/html")
    response.headers["Content-Security-Policy"] = NEWSLETTER_POLICY
    return response


@widget.get("/widget/<project_id>/feed.json")
def get_json_feed(project_id: str) -> Response:
    """Serve a JSON Feed, with the newsletter's parameters, and ``?after=`` for further pages."""
    project = find_shown_project(project_id)
    keep_page(project)
    chosen = choose_items(project, request.args, None)
    with speaking(_read_language(project)):
        content = dump_json(describe_json_feed(project, chosen))
    return _answer(content, "application/feed+json")


def _read_language(project: Project) -> str:
    language: str = request.args.get(PARAMETER) or project.whole_page_design["language"]
    return language


@widget.get("/oembed")
def get_embed() -> Response:
    """Answer oEmbed: ``?url=``, ``?maxwidth=``, ``?maxheight=`` and ``?format=json``."""
    with speaking(request.args.get(PARAMETER)):
        project, answer = describe_embed(request.args)
    keep_page(project)
    return _answer(dump_json(answer), "application/json")


def _answer(content: str | bytes, mimetype: str) -> Response:
    response = Response(content, mimetype=mimetype)
    response.headers["Cache-Control"] = "public, no-cache"
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.add_etag()
    response.make_conditional(request)
    return response


# The widget as a page, and as a fragment for static sites.


@wall.get("/widget/<project_id>")
def show_widget(project_id: str) -> ResponseReturnValue:
    """Show the widget as a page of HTML, which its script then replaces.

    Takes the parameters of `read_selection`, and ``?after=``, the cursor of a further page.
    """
    project = find_shown_project(project_id)
    keep_page(project)
    selection, after = read_selection(request.args), request.args.get("after")
    still = render_still(project, selection, after)
    g.is_frameable = True
    values: dict[str, Any] = {"is_framed": request.headers.get("Sec-Fetch-Dest") in FRAMES}
    # Only browsers without scripts request further pages.
    if after is None:
        source = urls.script_url(query=script_query(project, selection))
        # Deferred until the style sheet is there, since the widget takes the page's font.
        values |= {
            "container": container_attributes(project, selection),
            "script": Markup('<script src="{}" defer></script>').format(source),
        }
    response = Response(_render_widget(project, selection, still, **values))
    response.headers["Vary"] = "Sec-Fetch-Dest, Accept-Language"
    return response


@wall.get("/widget/<project_id>/fragment")
def get_fragment(project_id: str) -> Response:
    """Serve the widget as self-contained HTML, for static sites to include when they are built.

    Takes the parameters of the widget's page, and ``?limit=`` (at most 50).
    """
    project = find_shown_project(project_id)
    keep_page(project)
    selection = read_selection(request.args)
    still = render_still(project, selection, limit=read_limit(request.args))
    content = "" if still.is_empty else _render_fragment(project, selection, still)
    return _answer(content.strip() + "\n", "text/html")


def _render_widget(project: Project, selection: Selection, still: Still, **values: Any) -> str:
    arguments: dict[str, Any] = {"after": still.next, "project_id": project.id} | selection.query
    return render_page(
        "widget/widget.html",
        project,
        still,
        selection.theme,
        next_url=url_for("wall.show_widget", **arguments) if still.next else None,
        structured_data=describe_ratings(project, still.items),
        **values,
    )


def _render_fragment(project: Project, selection: Selection, still: Still) -> str:
    return render_template(
        "widget/fragment.html",
        still=still,
        # It consists of the program's own files and of validated settings.
        styles=Markup(shadow_styles(still, selection.theme)),  # noqa: S704
        wall_url=urls.wall_url(project.slug, project.own_host),
        structured_data=describe_ratings(project, still.items),
    )
