"""What files of other services and in other languages say, answers as columns, and the planner."""

import csv
import io
import json

import pytest
from flask import Flask
from sqlalchemy import inspect, text

from testimonials.core.csv_rows import TableUnreadable
from testimonials.core.extensions import db
from testimonials.core.text import SHORT, load_json
from testimonials.transfer.tables import plan
from testimonials.transfer.tables.columns import guess_mapping
from testimonials.transfer.tables.files import read_table
from testimonials.transfer.tables.rows import Reading, read_row
from testimonials.transfer.tables.values import read_markup, read_rating, shorten
from tests.dashboard.inbox.inbox import open_inbox
from tests.dashboard.transfer.imports import import_all
from tests.support.commands import run_well
from tests.support.rows import add_testimonial, read_testimonials

# The headings as the services' documents have them, and the columns of text, name, rating, date.
SERVICES = {
    "Judge.me": (
        "title,body,rating,review_date,source,curated,reviewer_name,reviewer_email,product_id,"
        "product_handle,reply,reply_date,picture_urls,ip_address,location",
        ("body", "reviewer_name", "rating", "review_date"),
    ),
    "Loox": (
        "id,status,rating,email,nickname,full_name,review,date,productId,handle,img,variant,"
        "verified_purchase",
        ("review", "full_name", "rating", "date"),
    ),
    "Yotpo": (
        "Review Title,Review Content,Review Score,Date,Product ID,Product URL,Display Name,Email",
        ("Review Content", "Display Name", "Review Score", "Date"),
    ),
    "Stamped": (
        "email,author,location,reviewRating,reviewTitle,reviewMessage,dateCreated,productId",
        ("reviewMessage", "author", "reviewRating", "dateCreated"),
    ),
    "Okendo": (
        "name,body,handle,productId,sku,rating,dateCreated,email,imageUrls,title",
        ("body", "name", "rating", "dateCreated"),
    ),
    "Trustpilot": (
        "Review Created (UTC),Review Username,Review User Email,Review Title,Review Content,"
        "Review Stars,Company Reply",
        ("Review Content", "Review Username", "Review Stars", "Review Created (UTC)"),
    ),
    None: (
        "client_name,post_title,post_content,star_rating,post_date,company_name",
        ("post_content", "client_name", "star_rating", "post_date"),
    ),
}


@pytest.mark.parametrize("service", SERVICES)
def test_other_services_headings_are_known(service):
    headings, expected = SERVICES[service]
    mapping = guess_mapping(headings.split(","))
    found = [mapping.columns[each][0] for each in ("text", "authorName", "rating", "submittedAt")]
    assert (mapping.service, tuple(found)) == (service, expected)
    # Above a review, a title is no role; a shop's pictures are of products.
    assert not {"authorRole", "authorAvatar"} & mapping.columns.keys()


@pytest.mark.parametrize(
    "headings",
    [
        "Bewertungstext,Kundenname,Sterne,Datum,Firma",
        "Témoignage,Nom du client,Étoiles,Date,Société",
        "Reseña,Nombre completo,Calificación,Fecha,Empresa",
        "Recensione,Nome completo,Stelle,Data,Azienda",
        "Depoimento,Nome do cliente,Estrelas,Data,Empresa",
        "Beoordeling,Volledige naam,Sterren,Datum,Bedrijf",
        "Opinia,Imię i nazwisko,Ocena,Data dodania,Nazwa firmy",
        "Omdöme,Kundnamn,Betyg,Datum,Företag", "YORUM,Ad Soyad,Puan,TARİH,Şirket",
        "お客様の声,お名前,評価,投稿日,会社名", "الرأي,الاسم الكامل,التقييم,التاريخ,الشركة",
    ],
)  # fmt: skip
def test_headings_are_known_in_the_languages_of_the_page(headings):
    names = headings.split(",")
    mapping = guess_mapping(names)
    fields = ("text", "authorName", "rating", "submittedAt", "authorCompany")
    assert [mapping.columns[each] for each in fields] == [(name,) for name in names]


def test_a_title_is_a_role_beside_a_quote_and_none_beside_a_review():
    assert guess_mapping(["Name", "Title", "Quote"]).columns["authorRole"] == ("Title",)
    assert "authorRole" not in guess_mapping(["Name", "Title", "Body"]).columns


def test_the_file_of_a_google_profile_is_read():
    content = (
        '{"reviews": [{"name": "accounts/1/reviews/2", "reviewer": {"displayName": "Ann"}, '
        '"starRating": "FIVE", "comment": "(Translated by Google) Great\\n\\n(Original)\\nSuper", '
        '"createTime": "2024-03-12T08:30:15.123456Z", "reviewReply": {"comment": "Thanks!"}}]}'
    )
    table = read_table(content.encode())
    row = read_row(table.lines[0].cells, Reading(table, guess_mapping(table.headings))).columns
    assert (row["author_name"], row["text"], row["rating"]) == ("Ann", "Super", 5)
    assert (row["reply"], row["submitted_at"].year) == ("Thanks!", 2024)


@pytest.mark.parametrize(
    ("text", "stars"),
    [
        ("5", 5), ("4,5", 4.5), ("4/5", 4), ("9/10", 4.5), ("80%", 4), ("80 %", 4), ("FIVE", 5),
        ("FOUR_STARS", 4), ("★★★★☆", 4), ("⭐️⭐️⭐️", 3), ("★★★★½", 4.5), ("5 stars", 5),
        ("4.5 out of 5", 4.5), ("4 von 5 Sternen", 4), ("3 étoiles", 3), ("5つ星", 5),
        ("STAR_RATING_THREE", 3), ("90/100", 4.5), ("5/0", None), ("great", None), ("", None),
        ("7", 7), ("5" * 400, None),
    ],
)  # fmt: skip
def test_ratings_are_read_as_they_are_written(text, stars):
    assert read_rating(text) == stars


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It&#39;s &quot;good&quot; &amp; cheap", 'It\'s "good" & cheap'),
        ("<p>One.</p><p>Two.<br/>Three</p>", "One.\nTwo.\nThree"),
        ("I <3 it, 1 < 2 & R&D", "I <3 it, 1 < 2 & R&D"),
        ("<b>Bold</b><script>alert(1)</script>", "Bold"),
        ("&lt;b&gt; stays", "<b> stays"),
    ],
)
def test_markup_becomes_words_and_other_signs_stay(text, words):
    assert read_markup(text) == words


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("short", "short"), ("It is good. It is very good.", "It is good. …"),
        ("Longer words without any end", "Longer words…"), ("x" * 30, "x" * 19 + "…"),
        ("とても良いです。また来ます。そしてまた、何度でも。", "とても良いです。また来ます。 …"),
        ("x" * 18 + "e\u0301" * 3, "x" * 18 + "…"),
    ],
)  # fmt: skip
def test_a_text_is_shortened_at_a_sentence_or_a_word(text, short):
    assert shorten(text, 20) == short
    assert len(shorten(text, 20)) <= 20


ANSWERS = (
    {"id": "takehome", "question": "=What?", "kind": "choice", "answer": ["Bread, rye", "Buns"]},
    {"id": "comeback", "question": "How likely?", "kind": "scale", "answer": 0},
    {"id": "whatbake", "question": "What did you bake?", "kind": "text", "answer": "=Rye\nTwice"},
    {"id": "printbag", "question": "You may print it (q_, too)", "kind": "consent", "answer": True},
)


def test_long_json_is_read_like_any_other():
    said = [{"text": "“Good” \\ bread\n" * 9, "stars": 5, "tags": ["a", None]}] * 5_000
    text = json.dumps({"items": said})
    assert len(text) > SHORT
    assert load_json(text) == json.loads(text)
    for broken in ("[" * SHORT * 2, "[" + "1," * SHORT + "1]", text[:-1], f"{text}x"):
        with pytest.raises((ValueError, RecursionError)):
            load_json(broken)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("text,name\n" + "," * 1_000_001, "row is too long"),
        ('text,name\n"' + "x\n" * 600_000, "quote is not closed"),
        (f"[{'[],' * 300_000}1]", "isn’t valid JSON"),
    ],
)
def test_what_would_take_long_at_once_is_refused(content, problem):
    with pytest.raises(TableUnreadable, match=problem):
        read_table(content.encode())


def test_of_a_cell_or_a_heading_only_the_beginning_is_read():
    long, name = "a\u0327\u0301" * 20_000, "é" * 5_000
    for content in (f"text,{name}\n{long},b", json.dumps([{"text": long, name: "b"}])):
        table = read_table(content.encode())
        assert [len(heading) for heading in table.headings] == [4, 300]
        assert table.lines[0].cells["text"] == long[:20_000]


def test_answers_come_back_from_our_own_table(app, owner, tmp_path):
    first = owner.create_project(slug="first", skipDemoTestimonials=True)["_id"]
    second = owner.create_project(slug="second", skipDemoTestimonials=True)["_id"]
    public = [each | {"isPublic": True} for each in ANSWERS]
    private = [each | {"isPublic": False} for each in ANSWERS]
    for number, answers in enumerate((public, private, private[:1], None)):
        said = {"text": f"- Words {number}", "answers": answers, "form_name": "after-class"}
        add_testimonial(app, first, **said)
    path = tmp_path / "first.csv"
    run_well(app, "projects", "export", "first", str(path), "--csv")
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    assert rows[0]["How likely? (q_comeback, scale, public)"] == "0"
    assert rows[1]["'=What? (q_takehome, choice)"] == "Bread, rye\nBuns"
    assert rows[2]["How likely? (q_comeback, scale)"] == ""
    # A table of an earlier version lacks some columns.
    with path.open("w", encoding="utf-8", newline="") as file:
        names = [name for name in rows[0] if name not in ("insider", "translatedFrom")]
        table = csv.DictWriter(file, names, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    run_well(app, "testimonials", "import", "second", str(path))
    kept = [(row.text, row.answers, row.form_name) for row in read_testimonials(app, first)]
    assert [
        (row.text, row.answers, row.form_name) for row in read_testimonials(app, second)
    ] == kept


def test_an_impossible_answer_is_refused_by_line(app, owner, tmp_path):
    owner.create_project(slug="first", skipDemoTestimonials=True)
    path = tmp_path / "ours.csv"
    for heading, cell, said in (
        ("How likely? (q_comeback, scale)", "11", "How likely?: Must be a whole number from 0"),
        ("What? (q_takehome, choice)", "x" * 61, "What?: Must be at most 60 characters"),
        ("May we? (q_printbag, consent)", "no", "May we?: Must be equal to"),
    ):
        path.write_text(f'name,text,"{heading}"\nNoor,Lovely,{cell}\n', encoding="utf-8")
        args = ["testimonials", "import", "first", str(path), "--json"]
        result = app.test_cli_runner().invoke(args=args)
        assert (result.exit_code, said in result.output) == (1, True), result.output


TABLE = "Name,Review,Tags\nA,One,x\nB,Two,x\nC,Three,x\n"


def read_counts(app: Flask) -> set[int]:
    """Return how many rows the database takes each table of testimonials to have."""
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            # Where nobody had it count, there is no such table, and it plans without.
            return {1} if "sqlite_stat1" in inspect(db.engine).get_table_names() else set()
        names = ("testimonial", "testimonial_tag")
        query = text("SELECT reltuples FROM pg_class WHERE oid = CAST(:name AS regclass)")
        return {int(db.session.execute(query, {"name": name}).scalar_one()) for name in names}


@pytest.mark.postgres
def test_the_database_counts_after_each_way_to_import(app, owner, tmp_path, backend, monkeypatch):
    monkeypatch.setattr(plan, "MANY_ROWS", 3)
    expected = iter((3, 6, 9) if backend == "postgresql" else ())

    def expect_counts() -> None:
        assert read_counts(app) == {count for count in (next(expected, None),) if count}

    inbox = open_inbox(app, owner, slug="fern")
    file, archive = tmp_path / "file.csv", tmp_path / "fern.zip"
    file.write_text(TABLE)
    run_well(app, "testimonials", "import", "fern", str(file))
    expect_counts()
    run_well(app, "projects", "export", "fern", str(archive))
    to = ("--account", owner.email, "--slug", "fern-2")
    run_well(app, "projects", "import", str(archive), *to)
    expect_counts()
    import_all(app, inbox, TABLE.replace(",x", " again,x"))
    expect_counts()
