"""`scripts/gallery`: the widget with all its settings, on pages of another origin, as sheets.

A new service is started and set up by its API; Chromium opens the snippet as it was returned, for
each combination of settings. The sheets are to be looked at: no test can say whether they are good.
"""

import contextlib
import functools
import io
import json
import re
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, sync_playwright

from testimonials.projects.defaults import CARD_STYLES, PALETTES, THEMES, WIDGET_CONFIG
from testimonials.widget.container import SHAPES
from testimonials.widget.drafts import LOOKS
from tests.support.process import Service, start_service
from tools.journey import CHROMIUM, CHROMIUM_FLAGS, TESTIMONIALS, Quiet

GROUNDS = {"light": "#fbf9f4", "dark": "#101014"}
# Another website's page, with its own font and margins.
PAGE = """<!doctype html>
<html lang="{lang}" dir="{dir}"><head><meta charset="utf-8"><title>Host</title>
<style>
html{{color-scheme:{scheme}}}
body{{margin:0;padding:20px;background:{ground};font:18px Georgia}}
</style>
</head><body>{body}</body></html>
"""
# Some easy colors, and some difficult ones: light, orange, nearly black.
BRANDS = ("#FACC15", "#C2410C", "#6D4AFF", "#111111")
# Each layout's settings and design.
LAYOUTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "masonry": ({"layout": "masonry"}, {"showHeader": True}),
    "carousel": ({"layout": "carousel", "animation": "none"}, {}),
    "list": ({"layout": "list"}, {"dateStyle": "month"}),
    "spotlight": ({"cardStyle": "quote"}, {"layout": "spotlight"}),
    "rows that move": ({"layout": "carousel", "animation": "horizontal"}, {}),
    "columns that move": ({"layout": "carousel", "animation": "vertical"}, {"density": "compact"}),
}
PEOPLE: list[dict[str, Any]] = [
    *TESTIMONIALS[:4],
    {
        "authorName": "Maya Kowalski",
        "authorRole": "Owner",
        "authorCompany": "Kiln & Clay Studio",
        "text": "Booking used to be three phone calls. Now clients pick a slot at midnight if they "
        "like, and I find out over breakfast.",
        "rating": 5,
    },
    {
        "authorName": "ليلى منصور",
        "authorRole": "مصممة داخلية",
        "text": "صالون هادئ ونظيف، والموعد يبدأ في وقته دائمًا. طلبت خصلات خفيفة تناسب لون شعري "
        "الطبيعي، وكانت النتيجة أجمل مما تخيلت.",
        "rating": 5,
    },
    {
        "authorName": "Ярослава Ткаченко",
        "authorRole": "Фотографка",
        "text": "Прийшла за порадою, а пішла зі стрижкою, про яку питають знайомі.",
        "rating": 5,
    },
    {
        "authorName": "Paul Brandt",
        "authorCompany": "Hafenkantine",
        "text": "Zuverlässig.",
        "rating": 5,
    },
    {
        "authorName": "आरव शर्मा",
        "authorRole": "शिक्षक",
        "text": "पहली बार आया था और सब कुछ आराम से समझाया गया। अब पूरा परिवार यहीं आता है।",
        "rating": 5,
    },
    {
        "authorName": "Ingrid Solberg-Haraldsen",
        "authorRole": "Head of something with a remarkably long title, Northern Region",
        "authorCompany": "Fjord & Fell Outfitters International Holdings",
        "text": "We tried it for a month.\n\nThen we stopped looking at anything else. " * 9,
        "rating": 4,
    },
    {
        "authorName": "דניאל לוי",
        "authorRole": "צלם",
        "text": "קצר ולעניין: עושים מה שאומרים, ובזמן.",
        "rating": 5,
    },
    {
        "authorName": "Chloé Martin",
        "authorRole": "Fleuriste",
        "text": "Un accueil simple, un travail soigné, et un résultat qui tient. Que demander de "
        "plus ?",
    },
    {
        "authorName": "Σοφία Παπαδοπούλου",
        "authorRole": "Αρχιτέκτων",
        "text": "Ήρθα με μια φωτογραφία και έφυγα με κάτι καλύτερο.",
        "rating": 5,
    },
]


@dataclass
class Studio:
    """A service, another website, and a browser."""

    service: Service
    headers: dict[str, str]
    site: Path
    site_url: str
    browser: Browser
    database: Path
    taken: int = 0
    projects: dict[str, str] = field(default_factory=dict)

    def make_project(self, name: str, people: list[dict[str, Any]]) -> None:
        """Create a project with these testimonials, in which the first is shown first."""
        body = {"businessName": name, "skipDemoTestimonials": True}
        project = self.call("POST", "/v1/projects", body)["_id"]
        for person in reversed(people):
            self.call("POST", f"/v1/projects/{project}/testimonials", person)
        self.projects[name] = project

    def call(self, method: str, path: str, body: object = None) -> Any:
        answer = self.service.call(method, path, body, self.headers)
        assert answer.status == 200, answer.body
        return answer.data

    def set_up(self, name: str, design: dict[str, Any] | None = None, **config: Any) -> str:
        """Set up the widget of a project, with defaults for other settings; return the snippet."""
        path = f"/v1/projects/{self.projects[name]}"
        self.call("PATCH", f"{path}/widget-config", WIDGET_CONFIG | config)
        # Written to the database, since an account's key can only propose a design.
        with contextlib.closing(sqlite3.connect(self.database)) as database, database:
            database.execute(
                "UPDATE project SET widget_design = ?, feed_version = feed_version + 1 "
                "WHERE id = ?",
                (json.dumps(design or {}), self.projects[name]),
            )
        snippet = self.call("GET", f"{path}/embed-snippet")
        return str(snippet["container"] + snippet["script"])

    def shoot(
        self, body: str, width: int, theme: str, *, height: int = 0, path: str = "", **page: str
    ) -> Image.Image:
        """Open a page with `body`, or the service's own page at `path`; return a screenshot."""
        values = {"lang": "en", "dir": "ltr", "scheme": theme, "ground": GROUNDS[theme]} | page
        (self.site / "index.html").write_text(PAGE.format(body=body, **values), encoding="utf-8")
        tab = self.browser.new_page(
            viewport={"width": width, "height": height or 600}, device_scale_factor=1
        )
        tab.goto(self.service.url + path if path else self.site_url)
        tab.wait_for_load_state("networkidle")
        if "data-testimonials-project" in body:
            tab.wait_for_selector(
                "[data-testimonials-state=ready],[data-testimonials-state=empty]", state="attached"
            )
            if 'shape="popup"' in body:
                # Skips the time after which it appears.
                tab.evaluate(
                    "document.querySelector('[data-testimonials-project]').shadowRoot"
                    ".querySelector('.tm').getAnimations().forEach(each => each.finish())"
                )
                tab.wait_for_timeout(500)
        content = tab.screenshot(full_page=not height, animations="allow")
        tab.close()
        self.taken += 1
        return Image.open(io.BytesIO(content)).convert("RGB")


def sheet(
    target: Path, pictures: list[tuple[str, Image.Image]], columns: int, scale: float
) -> None:
    """Arrange pictures in columns, each below its name, and save the sheet as WebP."""
    small = [
        (name, picture.resize((int(picture.width * scale), int(picture.height * scale))))
        for name, picture in pictures
    ]
    cell = max(picture.width for _, picture in small) + 16
    heights = [16] * columns
    places = []
    for name, picture in small:
        column = heights.index(min(heights))
        places.append((name, picture, column * cell + 16, heights[column]))
        heights[column] += picture.height + 36
    canvas = Image.new("RGB", (cell * columns + 16, min(max(heights), 16_000)), "#8d8d96")
    draw = ImageDraw.Draw(canvas)
    for name, picture, x, y in places:
        draw.text((x, y), name, fill="white")
        canvas.paste(picture, (x, y + 16))
    target.parent.mkdir(parents=True, exist_ok=True)
    canvas.save(target, "WEBP", quality=60, method=6)
    print(target.name, f"{target.stat().st_size // 1024} kB,", len(pictures), "pictures")


Sheet = tuple[str, list[tuple[str, Image.Image]], int, float]


def looks(studio: Studio) -> Iterator[Sheet]:
    """Every look in both themes, with one brand color."""
    for theme in THEMES:
        pictures = []
        for key, look in LOOKS.items():
            config = {"layout": "masonry", "initialCount": 6} | look.config | {"theme": theme}
            design = look.design | {"brandColor": "#0F766E"}
            snippet = studio.set_up("many", design, **config)
            pictures.append((key, studio.shoot(snippet, 1000, theme)))
        yield f"looks-{theme}", pictures, 4, 0.4


def styles(studio: Studio) -> Iterator[Sheet]:
    """Every card style and every palette in both themes, and some brand colors."""
    pictures = []
    for style in CARD_STYLES:
        for theme in THEMES:
            snippet = studio.set_up("few", cardStyle=style, theme=theme, palette="indigo")
            pictures.append((f"{style} {theme}", studio.shoot(snippet, 640, theme)))
    yield "card-styles", pictures, 5, 0.5
    pictures = []
    for theme in THEMES:
        for palette in PALETTES:
            snippet = studio.set_up("few", cardStyle="quote", theme=theme, palette=palette)
            pictures.append((f"{palette} {theme}", studio.shoot(snippet, 640, theme)))
        for brand in BRANDS:
            snippet = studio.set_up("few", {"brandColor": brand}, cardStyle="quote", theme=theme)
            pictures.append((f"{brand} {theme}", studio.shoot(snippet, 640, theme)))
    yield "colours", pictures, 5, 0.4


def layouts(studio: Studio) -> Iterator[Sheet]:
    """Every layout at three widths, moving ones at their start; few, no and long testimonials."""
    for width, columns, scale in ((360, 6, 0.5), (768, 3, 0.4), (1280, 2, 0.35)):
        pictures = []
        for name, (config, design) in LAYOUTS.items():
            theme = "dark" if name in ("list", "spotlight") else "light"
            values = {"theme": theme, "palette": "emerald", "initialCount": 9} | config
            snippet = studio.set_up("many", design, **values)
            pictures.append((f"{name} {width}", studio.shoot(snippet, width, theme)))
        yield f"layouts-{width}", pictures, columns, scale
    pictures = []
    for name in ("none", "one", "three", "long"):
        for width in (360, 1280):
            snippet = studio.set_up(name, palette="emerald", cardStyle="stripe")
            pictures.append((f"{name} {width}", studio.shoot(snippet, width, "light")))
    for name, (config, design) in LAYOUTS.items():
        snippet = studio.set_up("many", design, palette="rose", initialCount=6, **config)
        page = studio.shoot(snippet, 900, "light", dir="rtl", lang="ar")
        pictures.append((f"right to left {name}", page))
    yield "counts", pictures, 4, 0.4


def shapes(studio: Studio) -> Iterator[Sheet]:
    """Every shape that a container may have, in both themes, wide and narrow."""
    pictures = []
    for theme in THEMES:
        for width in (360, 700):
            for shape in SHAPES:
                snippet = studio.set_up("many", palette="emerald", theme=theme)
                tag = "span" if shape == "badge-sentence" else "div"
                chosen = snippet.replace("<div ", f'<{tag} data-testimonials-shape="{shape}" ')
                chosen = "Small shop, " + re.sub('style="[^"]*"', "", chosen)
                if tag == "span":
                    chosen = re.sub("<noscript>.*</noscript></div>", "</span>", chosen)
                picture = studio.shoot(chosen, width, theme, height=280)
                pictures.append((f"{shape} {theme} {width}", picture))
    yield "shapes", pictures, 8, 0.5


def bare(studio: Studio) -> Iterator[Sheet]:
    """What the service itself renders, without the script."""
    project = studio.projects["many"]
    pictures = []
    for theme in THEMES:
        studio.set_up("many", palette="indigo", theme=theme, layout="masonry")
        for width in (360, 1280):
            for path in (f"/widget/{project}", "/many/wall"):
                pictures.append(
                    (f"{path[:12]} {theme} {width}", studio.shoot("", width, theme, path=path))
                )
            fragment = studio.service.call("GET", f"/widget/{project}/fragment").body.decode()
            pictures.append((f"fragment {theme} {width}", studio.shoot(fragment, width, theme)))
    yield "server", pictures, 6, 0.4


def main(folder: Path, wanted: list[str]) -> None:
    """Make all sheets in `folder`, or only those of the wanted groups."""
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        site = Path(home) / "site"
        site.mkdir()
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        service = start_service(Path(home) / "instance", (), {})
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        site_url = f"http://127.0.0.1:{server.server_port}/"
        database = Path(home) / "instance" / "testimonials.db"
        studio = Studio(service, service.sign_up(), site, site_url, browser, database)
        long = [PEOPLE[0] | {"text": "W" * 2000, "authorName": "N" * 120}, *PEOPLE[:3]]
        for name, people in {
            "many": PEOPLE,
            "few": PEOPLE[:4],
            "none": [],
            "one": PEOPLE[:1],
            "three": PEOPLE[:3],
            "long": long,
        }.items():
            studio.make_project(name, people)
        try:
            for group in (looks, styles, layouts, shapes, bare):
                if wanted and group.__name__ not in wanted:
                    continue
                for name, pictures, columns, scale in group(studio):
                    sheet(folder / f"{name}.webp", pictures, columns, scale)
            print(studio.taken, "renderings")
        finally:
            browser.close()
            service.kill()
            server.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
