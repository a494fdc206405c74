"""What docs/embedding.md says of the widget is there, and what is there is said."""

import re
from pathlib import Path

import pytest

import testimonials
from testimonials.core.images.colors import NAMES
from testimonials.dashboard.add_to_site import LANGUAGES
from testimonials.widget.container import SHAPES
from testimonials.widget.embed import CODE, OTHER, SITES
from tests.contracts.documents import render_agent_quickstart
from tests.support.finding import find

WIDGET = Path(testimonials.__file__).parent / "static" / "widget"
STILL = Path(testimonials.__file__).parent / "templates" / "widget" / "_still.html"
ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "embedding.md"


@pytest.fixture(scope="module")
def document() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script() -> str:
    return "".join(file.read_text(encoding="utf-8") for file in sorted(WIDGET.rglob("*.js")))


@pytest.fixture(scope="module")
def sheet() -> str:
    return "".join(file.read_text(encoding="utf-8") for file in sorted(WIDGET.rglob("*.css")))


def section(document: str, title: str) -> str:
    """Return what stands below a heading, up to the next one of its level or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", document, re.MULTILINE)
    assert found, title
    rest = document[found.end() :]
    return re.split(rf"^#{{1,{len(found[1])}}} ", rest, flags=re.MULTILINE)[0]


def first_column(text: str) -> list[str]:
    """Return the names in back ticks in the first column of the tables of a text."""
    rows = re.findall(r"^\| (?!---)([^|]+) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_attributes_states_and_events(document, script):
    watched = find(r"attributeFilter = \[([^\]]+)\]", script)
    chosen = set(re.findall(r"'(\w+)'", watched))
    written = {name.lower() for name in re.findall(r"ta(?:set)?\.testimonials([A-Z]\w+)", script)}
    assert written >= {"state", "count"}
    table = first_column(section(document, "Attributes of the container"))
    assert set(table) == {f"data-testimonials-{name}" for name in chosen}
    assert tuple(first_column(section(document, "Shapes"))) == SHAPES
    said = set(re.findall(r"data-testimonials-(\w+)", document))
    assert said == chosen | written
    said = section(document, "What it says")
    events = set(re.findall(r"\bevent = '(\w+)'", script))
    assert events == {"ready", "error"}
    assert {f"testimonials:{event}" for event in events} == {
        name for name in first_column(said) if name.startswith("testimonials:")
    }
    listed = find(r"`data-testimonials-state` \| ([^|]+)", said)
    states = set(re.findall(r"testimonialsState = '(\w+)'", script)) | {"empty"} | events
    assert set(re.findall(r"`(\w+)`", listed)) == states
    detail = find(r"detail: \{ ([^}]+) \}", script)
    names = [name.split(":")[0] for name in detail.split(", ")]
    assert f"`{{{', '.join(names)}}}`" in said


def test_custom_properties(document, script, sheet):
    painted = [each.split(" ") for each in re.findall(r"paint\('([\w ]+)'\)", script)]
    places = {place: name for names in painted for place, name in enumerate(names) if name}
    colours = [places[place] for place in sorted(places)]
    assert colours == [*NAMES, "shade", "glyph"]
    assert sorted(places) == list(range(len(colours)))
    # The three pairs behind initials have one hook.
    names = {name.rstrip("012") for name in colours}
    names |= set(re.findall(r"--testimonials-(\w+)", sheet))
    table = first_column(section(document, "Colours and sizes"))
    assert len(table) == len(set(table))
    assert set(table) == {f"--testimonials-{name}" for name in names}
    assert set(re.findall(r"--testimonials-\w+", document)) <= set(table)
    # Each of them is of use to the style sheet.
    for name in names:
        assert re.search(rf"var\(--(tm|testimonials)-{name}\d?[,)]", sheet), name


def test_parts(document, script):
    # Each element with a class is a part; the root is the widget's own and has none.
    assert "node.part = attributes.class" in script
    made = {
        name
        for classes in re.findall(r"(?:\{ class: |\blink\()'([\w ]+)'", script)
        for name in classes.split()
    }
    assert len(made) > 10
    still = STILL.read_text(encoding="utf-8")
    rendered = {name for part in re.findall(r' part="([\w ]+)"', still) for name in part.split()}
    table = first_column(section(document, "Parts"))
    assert len(table) == len(set(table))
    assert set(table) == made
    assert rendered <= made
    assert set(re.findall(r"::part\((\w+)\)", document)) <= made


def test_the_guide_for_agents_names_every_hook(document):
    guide = " ".join(render_agent_quickstart().split())
    for before, title, prefix in (
        ("`--testimonials-`: ", "Colours and sizes", "--testimonials-"),
        ("`::part()`: ", "Parts", ""),
        ("`shape` (", "Shapes", ""),
    ):
        names = [name.removeprefix(prefix) for name in first_column(section(document, title))]
        said = re.split(r"[.)]", guide.partition(before)[2])[0]
        assert said == ", ".join(f"`{name}`" for name in names), f"{title} in llms.txt"
    for name in first_column(section(document, "Attributes of the container")):
        assert name.endswith("project") or f"`{name.rpartition('-')[2]}`" in guide


def test_kinds_of_websites(document):
    titles = re.findall(r"^### (.+)$", section(document, "Each kind of website"), re.MULTILINE)
    sites = [name for kind, name in SITES.items() if kind not in (OTHER, CODE)]
    for name in ("Plain HTML", "Notion", *sites, *list(LANGUAGES.values())[1:]):
        assert any(name in title for title in titles), name


def test_fields_of_the_data(document, owner, client):
    said = section(document, "The data")
    fields = set(first_column(said.partition("| field |")[2]))
    project = owner.create_project()["_id"]
    body = {"authorCompany": "Kiln", "authorAvatar": "https://example.com/a.png", "rating": 4}
    owner.create_testimonial(project, **body)
    found: set[str] = set()
    for query in ("?lang=en", "?shape=badge", "?shape=strip"):
        feed = client.get(f"/widget/{project}/feed{query}").json
        assert feed is not None
        found |= feed.keys()
        for item in feed["items"]:
            assert item.keys() <= set(re.findall(r"`(\w+)`", said.partition("Each item")[2]))
        for name in ("project", "design", "cta", "badge", "header"):
            named = set(re.findall(r"`(\w+)`", find(rf"\| `{name}` \| ([^|]+)", said)))
            assert name not in feed or named == feed[name].keys()
    assert fields == found


def test_digest_of_the_fragments_styles(document, owner, client):
    """The command in the document takes the style element from one line, without what is around."""
    assert r"sed -n 's/.*<style>\(.*\)<\/style>.*/\1/p'" in document
    project = owner.create_project()["_id"]
    owner.create_testimonial(project)
    fragment = client.get(f"/widget/{project}/fragment").text
    assert len(re.findall(r"^.*<style>.*</style>.*$", fragment, re.MULTILINE)) == 1
    assert fragment.count("<style") == 1


def test_documents_show_the_snippet_that_the_api_returns(owner):
    project = owner.create_project()["_id"]
    snippet = owner.get(f"/v1/projects/{project}/embed-snippet").json["data"]  # type: ignore[index]
    for document, origin in (
        ("README.md", "http://127.0.0.1:8000"),
        ("docs/embedding.md", "https://testimonials.example.com"),
    ):
        text = (ROOT / document).read_text(encoding="utf-8")
        for part in ("script", "container"):
            line = snippet[part].replace("https://testimonials.example.com", origin)
            assert line.replace(project, "PROJECT_ID") in text, document
