"""Reading the brand from the home page of the owner's website, without running scripts."""

import io
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit

from testimonials import __version__
from testimonials.auth.accounts import lock_where
from testimonials.auth.models import Account
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.faults import refusing
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http_client import AddressRefused, Answer, UrlRefused, ask, may_connect
from testimonials.core.images import uploads
from testimonials.core.images.colors import from_hex
from testimonials.core.jobs import enqueue, job
from testimonials.core.settings.table import current_settings
from testimonials.core.text import UNUSABLE
from testimonials.projects.brand import (
    SCHEMA_TRADES,
    brand_logo_id,
    find_brand,
    follow_brand,
    guess_trade,
)
from testimonials.projects.models import Project
from testimonials.projects.projects import complete_website, lock_project, mark_changed

READINGS = Limit("website-reading", 5, "of one account")
READ, READ_OWN = "website.read", "website.read-own"

# Limits for all requests to a website together.
SECONDS, MOST_BYTES = 5.0, 1024 * 1024
MOST_REDIRECTS, MOST_SHEETS, MOST_LOGOS, MOST_COLORS = 3, 4, 2, 4
# How many pictures are tried as logos; some may be SVG, which we can't read.
MOST_TRIED = 4
REDIRECTS = {301, 302, 303, 307, 308}
# Colors with less chroma (in OKLCH) are grays; those closer to black or white aren't a brand's.
GRAY, DARKEST, LIGHTEST = 0.04, 0.2, 0.95
# How much a color weighs, by where it was found.
IN_HEAD, IN_NAME, IN_LOGO, IN_BUTTON = 3, 3, 2, 1

# All repetitions are bounded, so that matching takes linear time.
_TAG = re.compile(r"<(meta|link|img|header|/header|title)\b([^<>]{0,2000})>", re.I)
_ATTRIBUTE = re.compile(
    r"""(?<![a-z:-])([a-z:-]{1,30})\s{0,3}=\s{0,3}(?:"([^"]{0,1500})"|'([^']{0,1500})')""", re.I
)
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,300})", re.I)
_LINKED = re.compile(
    r"<script[^<>]{0,200}application/ld\+json[^<>]{0,200}>([^<]{1,20000})</script", re.I
)
_STYLE = re.compile(r"<style[^<>]{0,200}>([^<]{1,200000})", re.I)
_BUTTON = re.compile(r"(?:^|[\s,.>])(?:button|btn|a)\b|btn|button|cta", re.I)
_WHOLE_PAGE = re.compile(r"(?:^|[\s,])(?:html|body|:root)\s*$")
_VARIABLE = re.compile(r"var\(\s{0,3}(--[\w-]{1,60})")
# Endings of font names that don't contain "sans", "serif" or "round".
_PLAIN = ("system-ui", "arial", "helvetica", "verdana", "roboto", "inter", "segoe ui", "lato")
_ROUNDED = ("nunito", "quicksand", "comfortaa", "fredoka", "baloo 2", "dosis")
_CLASSIC = (
    "georgia", "times", "times new roman", "garamond", "playfair display", "merriweather", "lora",
    "baskerville", "palatino", "bodoni moda", "crimson text", "libre caslon text", "didot",
)  # fmt: skip
# In names of custom properties.
_OF_BRAND = re.compile("brand|primary|accent", re.I)
_SEPARATOR = re.compile(r"\s[|–—·:-]\s|\s?\|\s?")
# What every page made with each contains.
_MADE_WITH = {
    "wordpress": "/wp-content/",
    "shopify": "cdn.shopify.com",
    "webflow": "data-wf-site",
    "wix": "static.parastorage.com",
    "squarespace": "static1.squarespace.com",
    "framer": "framerusercontent.com",
}


class WebsiteUnread(ServiceError):
    status = 422
    code = ServiceError.code
    default_message = gettext_noop(
        "We couldn’t read that address. Choose a colour; you can add a logo later."
    )


@dataclass
class WebsiteReading:
    """What was read on a website; `images` are those `logos` (URLs) that could be read."""

    name: str = ""
    trade: str = ""
    made_with: str = ""
    colors: list[str] = field(default_factory=list)
    logos: list[str] = field(default_factory=list)
    sheets: list[str] = field(default_factory=list)
    manifest: str = ""
    ground: str = ""
    typeface: str = ""
    images: list[uploads.Image] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        """Return the values to store in a brand."""
        values = {
            "trade": self.trade,
            "madeWith": self.made_with,
            "color": next(iter(self.colors), ""),
            "colors": self.colors,
            "ground": self.ground,
            "typeface": self.typeface,
        }
        return {name: value for name, value in values.items() if value}


class _Budget:
    """The time and bytes left for requests to a website."""

    def __init__(self) -> None:
        self.deadline = time.monotonic() + SECONDS
        self.bytes = MOST_BYTES

    def get(self, url: str) -> tuple[str, Answer]:
        """Return the final URL and its response; redirects are checked like the first URL."""
        for _ in range(1 + MOST_REDIRECTS):
            seconds = self.deadline - time.monotonic()
            if seconds <= 0 or self.bytes <= 0:
                raise WebsiteUnread
            headers = {"User-Agent": f"testimonials/{__version__}", "Connection": "close"}
            try:
                answer = ask(url, seconds, self.bytes, may_connect(), headers=headers)
            except (AddressRefused, UrlRefused, OSError):
                raise WebsiteUnread from None
            self.bytes -= len(answer.content)
            target = answer.headers.get("Location")
            if answer.status not in REDIRECTS or not target:
                break
            url = _join(url, target)
        if answer.status != 200:
            raise WebsiteUnread
        return url, answer

    def read(self, url: str) -> str:
        return self.get(url)[1].content.decode("utf-8", "replace")


def read_website(url: str) -> WebsiteReading:
    """Read the home page at a URL, its style sheets and logos. Raises `WebsiteUnread`."""
    if current_settings().website_reading == "off":
        raise WebsiteUnread
    budget = _Budget()
    with refusing(lambda _fault: WebsiteUnread()):
        try:
            url, answer = budget.get(url)
        except WebsiteUnread:
            if not url.startswith("https://"):
                raise
            url, answer = budget.get(f"http://{url.removeprefix('https://')}")
        reading = read_page(answer.content.decode("utf-8", "replace"), url)
        weights = Counter(dict.fromkeys(reading.colors, IN_HEAD))
        _read_manifest(budget, reading, weights)
        for sheet in reading.sheets[:MOST_SHEETS]:
            with suppress(WebsiteUnread):
                weights += weigh_colors(budget.read(sheet), reading)
        images = filter(None, (_read_logo(budget, each) for each in reading.logos))
        reading.images = list(islice(images, MOST_LOGOS))
        for image in reading.images[:1]:
            bright = [color for color in uploads.list_colors(image) if _to_hex(color)]
            _add_colors(weights, bright[:2], IN_LOGO)
        reading.colors = [color for color, _ in weights.most_common(MOST_COLORS)]
    return reading


def read_page(page: str, url: str) -> WebsiteReading:
    """Return what a page says about itself."""
    reading, weights = WebsiteReading(), Counter[str]()
    objects = [each for text in _LINKED.findall(page) for each in _parse_linked(text)]
    title = _TITLE.search(page)
    is_header, icons, in_header = False, [], []
    for match in _TAG.finditer(page):
        tag, pairs = match[1].lower(), _ATTRIBUTE.findall(match[2])
        attributes = {name.lower(): unescape(one or other) for name, one, other in pairs}
        content, href = attributes.get("content", ""), attributes.get("href", "")
        if tag in ("header", "/header"):
            is_header = tag == "header"
        elif tag == "meta":
            if attributes.get("property") == "og:site_name":
                reading.name = reading.name or content
            if attributes.get("name") == "theme-color":
                _add_colors(weights, [content], IN_HEAD)
        elif tag == "link":
            kinds = attributes.get("rel", "").lower().split()
            if "apple-touch-icon" in kinds:
                icons.append(href)
            if "manifest" in kinds:
                reading.manifest = _join(url, href)
            if "stylesheet" in kinds:
                reading.sheets.append(_join(url, href))
        elif tag == "img" and is_header and "logo" in match[2].lower():
            in_header.append(attributes.get("src", ""))
    for sheet in _STYLE.findall(page):
        weights += weigh_colors(sheet, reading)
    linked_name = next((each["name"] for each in objects if isinstance(each.get("name"), str)), "")
    words = _SEPARATOR.split(unescape(title[1]).strip())[0] if title else ""
    name = linked_name or unescape(reading.name) or words
    reading.name = " ".join(UNUSABLE.sub("", name).split())[:120]
    reading.made_with = next((each for each, sign in _MADE_WITH.items() if sign in page), "")
    reading.trade = _find_trade(objects, f"{reading.name} {title[1] if title else ''}")
    logos = [_find_linked_logo(each) for each in objects] + in_header + icons
    reading.logos = [_join(url, each) for each in dict.fromkeys(logos) if each][:MOST_TRIED]
    reading.colors = [color for color, _ in weights.most_common(MOST_COLORS)]
    return reading


def _join(url: str, target: str) -> str:
    try:
        return urljoin(url, target.strip())
    except ValueError:
        return ""


def weigh_colors(sheet: str, reading: WebsiteReading) -> Counter[str]:
    """Weigh a style sheet's possible brand colors; set the page's background and typeface."""
    weights, fonts = Counter[str](), list[str]()
    # Split into pieces, since one pattern for the whole would be slow on a hostile sheet.
    for rule in sheet.split("}"):
        selector, _, body = rule.rpartition("{")
        selector = selector[-300:]
        is_button, is_page = _BUTTON.search(selector), _WHOLE_PAGE.search(selector)
        for declaration in body.split(";"):
            name, _, value = declaration.partition(":")
            name = name.strip().lower()[:100]
            if name.startswith("--") and _OF_BRAND.search(name):
                _add_colors(weights, [value], IN_NAME)
            elif name in ("background", "background-color"):
                if is_page:
                    reading.ground = reading.ground or _read_color(value)
                elif is_button:
                    _add_colors(weights, [value], IN_BUTTON)
            elif is_page and name in ("font", "font-family"):
                fonts.append(value)
    # Only a few fonts, since a variable is searched for in the whole sheet.
    typefaces = (_choose_typeface(each, sheet) for each in fonts[:8])
    reading.typeface = reading.typeface or next(filter(None, typefaces), "")
    return weights


def _choose_typeface(value: str, sheet: str) -> str:
    """Return which of `TYPEFACES` is closest to a list of fonts, or "" if that is unclear."""
    if (variable := _VARIABLE.match(value.strip()[:200])) is not None:
        _, _, rest = sheet.partition(f"{variable[1]}:")
        value = rest[:300].partition(";")[0].partition("}")[0]
    for name in value[:300].lower().split(","):
        font = name.strip(" \n\t\"'")
        if "sans" in font or font.endswith(_PLAIN):
            return "plain"
        if "round" in font or font.endswith(_ROUNDED):
            return "rounded"
        if "serif" in font or font.endswith(_CLASSIC):
            return "classic"
    return ""


def _add_colors(weights: Counter[str], texts: list[str], weight: int) -> None:
    for text in texts:
        if (color := _to_hex(text)) is not None:
            weights[color] += weight


def _to_hex(text: str) -> str | None:
    """Return a color as `#RRGGBB`, or None for grays and anything else."""
    if not (color := _read_color(text)):
        return None
    lightness, chroma, _ = from_hex(color)
    return color if chroma >= GRAY and DARKEST <= lightness <= LIGHTEST else None


def _read_color(text: str) -> str:
    """Return any color as `#RRGGBB`, or "" for anything else."""
    text = text.partition("!")[0].strip().lower()[:40]
    if numbers := re.fullmatch(r"rgb\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)\s*\)", text):
        text = "#" + "".join(f"{min(255, int(each)):02x}" for each in numbers.groups())
    if re.fullmatch("#[0-9a-f]{3}", text):
        text = "#" + "".join(digit * 2 for digit in text[1:])
    return text.upper() if re.fullmatch("#[0-9a-f]{6}", text) else ""


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _parse_linked(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a piece of JSON-LD."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    for each in _as_list(data):
        if isinstance(each, dict):
            graph = each.get("@graph")
            objects = graph if isinstance(graph, list) else [each]
            yield from (part for part in objects if isinstance(part, dict))


def _find_linked_logo(linked: dict[str, Any]) -> str:
    logo = linked.get("logo")
    url = logo.get("url") if isinstance(logo, dict) else logo
    return url if isinstance(url, str) else ""


def _find_trade(objects: list[dict[str, Any]], words: str) -> str:
    for each in objects:
        for kind in _as_list(each.get("@type")):
            if isinstance(kind, str) and (kind in SCHEMA_TRADES or kind.endswith("Store")):
                return SCHEMA_TRADES.get(kind, "shop")
    trade = guess_trade(unescape(words))
    return "" if trade == "anything" else trade


def _read_manifest(budget: _Budget, reading: WebsiteReading, weights: Counter[str]) -> None:
    """Add the colors of a web app manifest, and its icons after all other logos."""
    if not reading.manifest:
        return
    try:
        url, answer = budget.get(reading.manifest)
        manifest = json.loads(answer.content)
    except (WebsiteUnread, ValueError, RecursionError):
        return
    if not isinstance(manifest, dict):
        return
    _add_colors(weights, [str(manifest.get("theme_color", ""))], IN_HEAD)
    reading.ground = reading.ground or _read_color(str(manifest.get("background_color", "")))
    for icon in reversed(_as_list(manifest.get("icons"))):
        if isinstance(icon, dict) and isinstance(icon.get("src"), str):
            reading.logos = [*reading.logos, _join(url, icon["src"])][:MOST_TRIED]


def _read_logo(budget: _Budget, url: str) -> uploads.Image | None:
    try:
        return uploads.read_image(io.BytesIO(budget.get(url)[1].content), uploads.LOGO)
    except (WebsiteUnread, uploads.ImageRefused, uploads.ImageBusy):
        return None


# Domains of mail providers, which aren't their customers' websites.
_MAILBOXES = {
    "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com", "yahoo.com",
    "icloud.com", "me.com", "mac.com", "aol.com", "proton.me", "protonmail.com", "gmx.com",
    "gmx.de", "gmx.net", "web.de", "t-online.de", "mail.com", "mail.ru", "yandex.com", "yandex.ru",
    "qq.com", "163.com", "zoho.com", "fastmail.com", "orange.fr", "free.fr", "laposte.net",
    "libero.it",
}  # fmt: skip


def own_domain(email: str) -> str:
    """Return the domain of an address, probably a website, or "" for mail providers."""
    domain = email.partition("@")[2]
    return "" if domain in _MAILBOXES else domain


def is_of_website(project: Project, email: str) -> bool:
    domain = own_domain(email.lower())
    host = (urlsplit(project.page_config["website"]).hostname or "").removeprefix("www.")
    return bool(domain and host) and f".{domain}".endswith(f".{host}")


def store_reading(project: Project, reading: WebsiteReading) -> None:
    """Store what was read in the locked project; what the owner set stays."""
    before = find_brand(project)
    project.brand = {**project.brand, "read": reading.describe()}
    if reading.images and brand_logo_id(project) is None:
        db.session.add(reading.images[0])
        db.session.flush()
        project.brand_logo_id = reading.images[0].id
    follow_brand(project, before)
    mark_changed(project)
    db.session.flush()


def enqueue_reading(project: Project) -> None:
    if project.page_config["website"] and current_settings().website_reading == "on":
        enqueue(READ, account_id=project.account_id, project_id=project.id)


@job(READ, "webhooks")
def read_of_project(project_id: str) -> None:
    project = db.session.get(Project, project_id)
    if project is None:
        return
    website, account_id = project.page_config["website"], project.account_id
    db.session.rollback()
    # After a failure the brand stays as it is; the owner can try again.
    with suppress(ServiceError):
        limiter.count(READINGS, account_id)
        reading = read_website(website)
        with write(partial(lock_project, project_id)) as project:
            store_reading(project, reading)


def begin_reading(lock: Callable[[], Account], link: str) -> None:
    """Start reading the website of the address that is claiming an account, once for each link."""
    account, link_hash = lock(), hash_secret(link)
    is_begun = (account.website_read or {}).get("link") == link_hash
    if is_begun or not own_domain(account.email) or current_settings().website_reading == "off":
        return
    with write(lock) as account:
        account.website_read = {"link": link_hash}
        enqueue(READ_OWN, account_id=account.id, owner=account.id)


@job(READ_OWN, "webhooks")
def read_of_account(owner: str) -> None:
    account = db.session.get(Account, owner)
    if account is None or account.is_claimed:
        return
    website = complete_website(own_domain(account.email))
    db.session.rollback()
    try:
        limiter.count(READINGS, owner)
        reading = read_website(website)
    except ServiceError:
        reading = WebsiteReading()
    with write(partial(lock_where, Account.id == owner)) as account:
        if account is None or account.is_claimed:
            return
        db.session.add_all(reading.images)
        db.session.flush()
        read = {"name": reading.name, "logos": [each.id for each in reading.images]}
        account.website_read = (account.website_read or {}) | reading.describe() | read
