"""One place for each address, one name for each file, and one way in which scripts send."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import testimonials
from testimonials.core.http import urls
from testimonials.testimonials.samples import PEOPLE

ROOT = Path(testimonials.__file__).parent
# Who else writes the beginning of a path, and why.
WRITERS = {
    "integrations/mcp/stdio.py": "The service that it calls runs elsewhere.",
    "core/http/urls.py": "It is the place for it.",
    "core/http/errors.py": "An unknown address has no view; its beginning says how to answer.",
    "dashboard/framework.py": "Pages of a project say only where they are below its own.",
    "dashboard/moved.py": "No view has a former address.",
    "operations/metrics.py": "It counts requests by their path.",
    "widget/cache.py": "It answers before Flask knows the request.",
    "auth/oidc/client.py": "Every provider describes itself there.",
}
# Who reads an origin from the settings, and why.
READERS = {
    "core/http/urls.py": "It is the place for it.",
    "core/http/openapi.py": "It describes an application that isn't the current one.",
    "core/settings/table.py": "It fills in what was left empty.",
    "operations/doctor_network.py": "It tries whether the setting is reachable.",
    "widget/cache.py": "It answers before Flask knows the request.",
}
ENDPOINTS = {
    "host_mark_url": "site.show_mark", "collection_page_url": "collection.show_collection_page",
    "form_url": "collection.show_collection_page", "wall_url": "wall.show_wall",
    "policy_url": "collection.show_policy", "record_url": "wall.show_record",
    "log_url": "wall.get_log",
    "testimonial_url": "wall.show_testimonial", "share_picture_url": "collection.get_share_picture",
    "testimonial_picture_url": "collection.get_shared_picture",
    "widget_page_url": "wall.show_widget", "fragment_url": "wall.get_fragment",
    "newsletter_url": "widget.get_newsletter", "json_feed_url": "widget.get_json_feed",
    "oembed_url": "widget.get_embed", "script_url": "widget.get_pinned_script",
    "face_url": "static", "image_url": "media.get_image", "recording_url": "media.get_recording",
    "captions_url": "media.get_captions", "call_url": "projects.list_projects",
    "project_url": "dashboard.inbox.show_inbox", "login_url": "auth.show_login",
    "company_return_url": "auth.come_back", "forgot_url": "auth.show_forgot",
    "proof_url": "dashboard.account.show_mailed_proof", "request_url": "collection.show_answer",
    "author_url": "authors.show_correction", "account_url": "dashboard.account.show_account",
    "error_url": "site.show_docs", "agent_guide_url": "site.get_guide_for_agents",
    "mcp_url": "agents.answer_agent", "resource_metadata_url": "oauth.describe_resource",
    "consent_url": "oauth.show_consent", "oauth_url": "oauth.give_token",
}  # fmt: skip
LINKS = {
    "claim": "auth.show_claim", "not-me": "auth.show_not_me", "reset": "auth.show_reset",
    "email": "auth.show_email_change", "invite": "projects.show_invitation",
    "unsubscribe": "projects.show_unsubscribe", "decide": "projects.show_decision",
}  # fmt: skip
# What is no whole address, and what `LINKS` are made by.
PARTS = {
    "link_url",
    "own_host_url", "own_names", "target_host", "app_url", "base_url", "base_path", "own_origins",
    "origin_of", "serve_below", "remove_base_path", "current_path", "init_own_hosts", "own_hosts",
    "find_own_host",
}  # fmt: skip
POSTED = {"mcp_url", "oauth_url"}
SAMPLES = {
    # At a name of its own a page has another path (tests/projects/domains).
    "host": None,
    "action": "token",
    "page": "inbox",
    "answer": "decline",
    "testimonial_id": "1" * 24,
    "path": "/v1/projects",
    "query": {"after": "1-1"},
}


def literals(tree: ast.Module) -> list[str]:
    """Return every text of a module outside docstrings and routes, {} for what is filled in."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            skipped |= {id(each) for one in node.decorator_list for each in ast.walk(one)}
        # One of the dashboard's, whose whole path stands where it is made.
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Page"):
            skipped |= {id(each) for each in node.args}
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(each) for each in node.values}
    texts = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else "{}" for each in node.values]
            texts.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return texts


def test_no_other_module_and_no_template_writes_a_path(app):
    roots = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    # The API's paths are its contract, and those of health checks are known to proxies.
    roots -= {"", "v1", "healthz", "readyz"}
    names = "|".join(re.escape(root) for root in roots if "<" not in root)
    path = re.compile(rf"^(?:\{{\}})?/(?:{names})(?:[/?#]|$)")
    writers = {
        str(file.relative_to(ROOT)): found
        for file in ROOT.rglob("*.py")
        if (found := list(filter(path.match, literals(ast.parse(file.read_text("utf-8"))))))
    }
    assert {name: found for name, found in writers.items() if name not in WRITERS} == {}
    assert writers.keys() == WRITERS.keys()
    link = re.compile(r"""\b(?:href|action|formaction|src)="/[^"]*""")
    written = {
        template.name: link.findall(template.read_text("utf-8"))
        for template in (ROOT / "templates").rglob("*.html")
    }
    assert {name: found for name, found in written.items() if found} == {}


def test_no_other_module_reads_an_origin():
    readers = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        if re.search(r"settings\S*\.(?:app_url|base_url)\b", file.read_text("utf-8"))
    }
    assert readers == READERS.keys()


def test_urls_lead_to_their_pages(app):
    functions = {
        name: function
        for name, function in inspect.getmembers(urls, inspect.isfunction)
        if function.__module__ == urls.__name__ and name not in PARTS
    }
    assert functions.keys() == ENDPOINTS.keys()
    adapter = app.url_map.bind("example.com")
    with app.app_context():
        for name, function in functions.items():
            names = list(inspect.signature(function).parameters)
            values: list[Any] = [SAMPLES.get(each, "sample") for each in names]
            if name == "author_url":
                values = ["sample", "correct"]
            path = urlsplit(function(*values)).path
            method = "POST" if name in POSTED else "GET"
            endpoint, _ = adapter.match(path, method=method)
            assert endpoint == ENDPOINTS[name]
        for page, endpoint in LINKS.items():
            assert adapter.match(urlsplit(urls.link_url(page, "sample")).path)[0] == endpoint


def test_every_link_in_a_mail_is_one_of_these():
    sources = (file.read_text("utf-8") for file in ROOT.rglob("*.py"))
    assert {page for each in sources for page in re.findall(r'link_url\("([^"]+)"', each)} == {
        *LINKS
    }


STATIC = ROOT / "static"


def read_all(folder: Path, pattern: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in folder.rglob(pattern)}


def test_every_named_file_exists_and_every_file_is_named():
    pages = "\n".join(read_all(ROOT / "templates", "*.html").values())
    named = {STATIC / name for name in re.findall(r"'((?:js|css|img)/[^']+\.\w+)'", pages)}
    # The dashboard's frame writes the folder and the ending.
    for name in {"owner", *re.findall(r"'((?:auth|dashboard)/[\w/-]+)'", pages)}:
        files = {STATIC / f"{kind}/{name}.{kind}" for kind in ("css", "js")}
        assert any(file.exists() for file in files), name
        named |= {file for file in files if file.exists()}
    for path, script in read_all(STATIC / "js", "*.js").items():
        found = re.findall(r"(?:from |import |import\()'(\.[^']+)'", script)
        named |= {(path.parent / name).resolve() for name in found}
    named |= {STATIC / f"img/faces/{who}.svg" for who in PEOPLE}
    kinds = ("js", "css", "img")
    assert named == {path for kind in kinds for path in (STATIC / kind).rglob("*.*")}


def test_one_script_sends_for_all():
    scripts = read_all(STATIC / "js", "*.js")
    assert [path.name for path, text in scripts.items() if "method: 'POST'" in text] == ["post.js"]
    # A file that is no module would leave its names to all others.
    pages = "\n".join(read_all(ROOT / "templates", "*.html").values())
    assert not re.findall(r"<script src=\S+'static'", pages)
