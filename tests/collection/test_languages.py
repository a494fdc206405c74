"""The public side in the visitor's language (docs/languages.md)."""

import dataclasses
import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.auth.tokens import Scope
from testimonials.collection import submission
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.projects.proposals.agents import make_agent
from tests.support.rows import add_testimonial, change_project, read_testimonials
from tests.support.sampling import sample
from tests.support.shapes import data_of, error_of

# A word of the button that sends, by language.
SEND = {
    "en": "Send my testimonial", "de": "Absenden", "es": "Enviar mi testimonio",
    "fr": "Envoyer mon témoignage", "it": "Invia la mia testimonianza",
    "nl": "Mijn ervaring versturen", "pl": "Wyślij moją opinię", "pt": "Enviar meu depoimento",
    "sv": "Skicka mitt omdöme", "tr": "Görüşümü gönder", "ja": "感想を送信する",
    "ar": "إرسال شهادتي",
}  # fmt: skip
CONSENT = {
    "en": "Kiln & Clay may show my words", "de": "Kiln & Clay darf meine Worte",
    "es": "Kiln & Clay puede mostrar mis palabras", "fr": "Kiln & Clay peut publier mon témoignage",
    "it": "Kiln & Clay può mostrare le mie parole", "nl": "Kiln & Clay mag mijn woorden",
    "pl": "Kiln & Clay może pokazywać moje słowa", "pt": "Kiln & Clay pode mostrar minhas palavras",
    "sv": "Kiln & Clay får visa mina ord", "tr": "Kiln & Clay sözlerimi",
    "ja": "Kiln & Clayが、私の言葉、名前、写真を",
    "ar": "أوافق على أن يعرض \u2068Kiln & Clay\u2069 كلماتي",
}  # fmt: skip
THANKS = {
    "en": "Thank you", "de": "Vielen Dank", "es": "Gracias", "fr": "Merci", "it": "Grazie",
    "nl": "Dank je wel", "pl": "Dziękujemy", "pt": "Obrigado", "sv": "Tack", "tr": "Teşekkürler",
    "ja": "ありがとうございます", "ar": "شكرًا لك",
}  # fmt: skip
FORM = {"text": "They listened.", "name": "Noor Haddad", "consent": "yes"}


@pytest.fixture(autouse=True)
def project(owner: Caller) -> str:
    return str(owner.create_project(businessName="Kiln & Clay", slug="kiln")["_id"])


def _speaks(answer: TestResponse, code: str) -> str:
    """Check that the page says its language everywhere; return it as a person reads it."""
    direction = "rtl" if code == "ar" else "ltr"
    assert f'<html lang="{code}" dir="{direction}"' in answer.text
    assert answer.headers["Content-Language"] == code
    assert "Accept-Language" in answer.headers["Vary"]
    assert "Set-Cookie" not in answer.headers
    return html.unescape(answer.text)


def _send(client: FlaskClient, query: str = "", slug: str = "kiln", **values: str) -> TestResponse:
    """Open the page, and send its hidden fields with what is filled in."""
    page = client.get(f"/{slug}{query}").text
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    return client.post(f"/{slug}", data=dict(hidden) | FORM | values)


HEADERS = (
    ("de", "de"),
    ("de-AT", "de"),
    ("pt-BR,pt;q=0.9,en;q=0.8", "pt"),
    ("ar-EG;q=0.9,ar;q=0.8", "ar"),
    ("zh-CN,fr;q=0.3", "fr"),
    # The region makes German no worse than the English that follows it.
    ("de-CH,en;q=0.9", "de"),
    ("en;q=0.4,es;q=0.7,fr;q=0.5", "es"),
    ("de;q=0,fr;q=0.1", "fr"),
    ("*;q=0.9,ja;q=0.1", "ja"),
    ("", "en"),
    (";;,=,q=9,de;q=abc,\x7f--,;q=", "en"),
    ("x" * 5000, "en"),
    ("../../etc/passwd", "en"),
    # Longer than any browser's: the rest is not read.
    (f"{'x,' * 600}de", "en"),
)


def test_the_browser_says_the_language(client):
    for header, code in HEADERS:
        assert SEND[code] in _speaks(client.get("/kiln", headers={"Accept-Language": header}), code)


def test_the_address_wins_over_the_browser_if_it_names_a_language(client):
    for code, send in SEND.items():
        page = _speaks(client.get(f"/kiln?lang={code}", headers={"Accept-Language": "fr"}), code)
        assert send in page
        # A name of any direction stands for itself in the sentence.
        assert CONSENT[code] in re.sub("</?bdi>", "", page)
    for asked in ("xx", "", "de_AT/..", "%00", "d", "deutsch", "EN-us-x"):
        answer = client.get(f"/kiln?lang={asked}", headers={"Accept-Language": "es"})
        _speaks(answer, {"EN-us-x": "en", "de_AT/..": "de"}.get(asked, "es"))


def test_a_page_has_a_language_unless_its_address_names_one(app, owner, client, project):
    helper = make_agent(owner, Scope.READ, Scope.CONFIGURE)
    path, browser = f"/v1/projects/{project}/page-design", {"Accept-Language": "fr"}
    for wrong in ("xx", "DE", None, 1):
        error_of(helper.patch(path, {"language": wrong}), 400, "VALIDATION_FAILED", "language")
    assert data_of(helper.get(path))["language"] == ""
    _speaks(client.get("/kiln/wall", headers=browser), "fr")
    assert data_of(helper.patch(path, {"language": "de"}))["language"] == "de"
    assert data_of(helper.get(path))["language"] == "de"
    widget = f"/widget/{project}"
    for page in ("/kiln", "/kiln/wall", "/kiln/thanks", "/kiln/report", widget):
        _speaks(client.get(page, headers=browser), "de")
    # Whatever builds a site or makes a newsletter asks for no language.
    add_testimonial(app, project)
    for page in (f"{widget}/fragment", f"{widget}/newsletter"):
        assert "So sammeln wir" in client.get(page).text
    _speaks(client.get("/kiln?lang=es", headers=browser), "es")
    assert SEND["de"] in _speaks(_send(client, name=""), "de")
    assert THANKS["de"] in client.get(_send(client).headers["Location"], headers=browser).text
    assert SEND["de"] in html.unescape(
        open_browser(app, owner).get(f"/dashboard/projects/{project}/collect/page/preview").text
    )
    # The specified settings are as they were.
    assert "language" not in data_of(owner.get(f"/v1/projects/{project}"))["publicPageConfig"]
    data_of(helper.patch(path, {"language": ""}))
    _speaks(client.get("/kiln", headers=browser), "fr")


def test_every_refusal_is_in_the_language_of_the_form(client):
    answer = _send(client, "?lang=ja", name="")
    assert answer.status_code == 422
    page = _speaks(answer, "ja")
    for expected in (
        "お名前を入力してください。", 'name="lang" value="ja"', "They listened.</textarea>",
    ):  # fmt: skip
        assert expected in page
    for values, message in (
        ({"text": "x" * 12345}, "Kürzen Sie dies auf 2000 Zeichen; es hat 12.345."),
        ({"email": "x@mailinator.com"}, "Nehmen Sie eine dauerhafte Adresse"),
        ({"rating": "7"}, "Wählen Sie 1 bis 5 Sterne oder keine."),
        ({"consent": ""}, "Setzen Sie hier ein Häkchen"),
        ({"token": "x"}, "Diese Seite war lange geöffnet."),
    ):
        answer = _send(client, "?lang=de", **values)
        assert answer.status_code == 422
        page = _speaks(answer, "de")
        assert message in page
        assert "Eine Angabe muss geändert werden" in page


def test_the_thanks_and_the_stored_consent_are_in_the_language_of_the_form(app, client, project):
    for code in ("ar", *sample(sorted(SEND.keys() - {"ar"}), 3)):
        answer = _send(client, f"?lang={code}", text=f"In {code}.")
        assert answer.status_code == 303
        target = urlsplit(answer.headers["Location"])
        assert (target.path, parse_qs(target.query)["lang"]) == ("/kiln/thanks", [code])
        heading = re.search("<h1.*?</h1>", _speaks(client.get(answer.headers["Location"]), code))
        assert THANKS[code] in heading[0]
        assert "<bdi>Noor</bdi>" in heading[0]
        row = read_testimonials(app, project)[-1]
        assert row.consent_language == code
        assert (row.consent_text or "").startswith(CONSENT[code])


def test_own_texts_are_not_translated(app, client, project):
    own = {"headline": "Tell us!", "description": "Be frank.", "thankYouMessage": "Ta."}
    change_project(app, project, page_config=own)
    page = client.get("/kiln?lang=fr").text
    assert '<h1 dir="auto">Tell us!</h1>' in page
    assert '<p class="lead" dir="auto">Be frank.</p>' in page
    assert '<p class="message-text" dir="auto">Ta.</p>' in client.get("/kiln/thanks?lang=fr").text


def test_the_switch_keeps_all_that_the_address_holds_and_never_leads_elsewhere(client):
    for path in ("", "/thanks"):
        page = client.get(f"/kiln{path}?name=No%26or&lang=es&name=b").text
        links = re.findall(r'<a href="([^"]+)" lang="(\w+)" hreflang="(\w+)" dir="(\w+)"', page)
        assert {lang for _, lang, *_ in links} == SEND.keys()
        for url, lang, hreflang, direction in links:
            assert html.unescape(url) == f"?name=No%26or&name=b&lang={lang}"
            assert (hreflang, direction) == (lang, "rtl" if lang == "ar" else "ltr")
        current = re.findall(r'lang="(\w+)" hreflang="\w+" dir="\w+" aria-current="true"', page)
        assert current == ["es"]
    page = client.get('/kiln?_external=1&_scheme=javascript&"><script>x=1').text
    assert "<script>x" not in page
    # The path leads to the form that reports the page.
    assert set(re.findall(r'<a href="(//|.)', page)) == {"?", "#", "/"}


def test_searchers_find_each_language_at_its_own_address(client):
    base = "https://testimonials.example.com/kiln"
    page = client.get("/kiln", headers={"Accept-Language": "de"}).text
    for code in SEND:
        assert f'<link rel="alternate" hreflang="{code}" href="{base}?lang={code}">' in page
    assert f'<link rel="alternate" hreflang="x-default" href="{base}">' in page
    assert f'<link rel="canonical" href="{base}">' in page
    assert f'<link rel="canonical" href="{base}?lang=ja">' in client.get("/kiln?lang=ja").text


def test_a_paused_page_says_so_in_it(app, client, project):
    change_project(app, project, status="inactive")
    page = _speaks(client.get("/kiln?lang=pt"), "pt")
    assert "No momento não recebemos depoimentos" in page
    assert "<bdi>Kiln & Clay</bdi> pausou esta página." in page
    assert 'hreflang="ja"' in page
    # It was paused while somebody wrote.
    late = client.post("/kiln?lang=pt", data={"text": "Só elogios."})
    assert late.status_code == 409
    assert "O que você escreveu" in late.text
    assert "Só elogios." in late.text
    assert read_testimonials(app, project) == []


def test_unknown_addresses_speak_the_visitors_language_the_api_english(client):
    for path in ("/nobody", "/nobody/thanks", "/static/none.css", "/media/none", "/a/b/c/d"):
        answer = client.get(path, headers={"Accept-Language": "de"})
        assert answer.status_code == 404
        assert "Diese Seite gibt es hier nicht" in _speaks(answer, "de")
    assert "Esta página no está aquí" in _speaks(client.get("/nobody?lang=es"), "es")
    german = {"Accept-Language": "de"}
    assert "This path does not exist" in client.get("/v1/nothing", headers=german).text
    assert "There is no widget" in client.get("/widget/" + "0" * 24, headers=german).text
    for path in ("/", "/docs"):
        assert '<html lang="en"' in client.get(path, headers=german).text


def test_what_is_too_large_or_too_much_or_from_elsewhere_is_said_in_the_visitors_language(
    client, monkeypatch
):
    german = {"Accept-Language": "de-DE"}
    few = dataclasses.replace(submission.SUBMISSIONS_PER_ADDRESS, per_hour=1)
    monkeypatch.setattr(submission, "SUBMISSIONS_PER_ADDRESS", few)
    answer = client.post("/kiln", data={"text": "a" * 300_000}, headers=german)
    assert answer.status_code == 413
    assert "höchstens 256 KiB" in _speaks(answer, "de")
    answer = client.post("/kiln", headers=german | {"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert "von einer anderen Website" in _speaks(answer, "de")
    answer = client.put("/kiln", headers=german)
    assert answer.status_code == 405
    assert "Die Anfrage ist nicht zu verstehen" in _speaks(answer, "de")
    client.post("/kiln", data=FORM)
    answer = client.post("/kiln", data=FORM, headers=german)
    assert answer.status_code == 429
    page = _speaks(answer, "de")
    assert "Zu viele Anfragen" in page
    assert re.search(r"Versuchen Sie es in (einer Minute|\d+ Minuten) noch einmal\.", page)


def test_a_renamed_one_leads(app, client, owner, project):
    path = f"/dashboard/projects/{project}/settings/address"
    assert open_browser(app, owner).post(path, data={"slug": "clay"}).status_code == 303
    answer = client.get("/kiln?lang=de&name=a%26b")
    assert (answer.status_code, answer.headers["Location"]) == (307, "/clay?lang=de&name=a%26b")
    for path in ("", "/wall"):
        odd = client.get(f"/kiln{path}", environ_overrides={"QUERY_STRING": "name=\xff%20a"})
        assert (odd.status_code, odd.location) == (307, f"/clay{path}?name=%FF%20a")
