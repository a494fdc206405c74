"""What files of other services and in other languages say: headings, ratings, markup, lengths."""

import pytest

from testimonials.transfer.tables.headings import guess_mapping
from testimonials.transfer.tables.ratings import read_rating
from testimonials.transfer.tables.rows import ReadingOptions, read_row
from testimonials.transfer.tables.table_files import read_table
from testimonials.transfer.tables.wording import read_markup, shorten

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
def test_other_services_headings_are_known(service: str | None) -> None:
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
        "Omdöme,Kundnamn,Betyg,Datum,Företag",
        "YORUM,Ad Soyad,Puan,TARİH,Şirket",
        "お客様の声,お名前,評価,投稿日,会社名",
        "الرأي,الاسم الكامل,التقييم,التاريخ,الشركة",
    ],
)
def test_headings_are_known_in_the_languages_of_the_page(headings: str) -> None:
    names = headings.split(",")
    mapping = guess_mapping(names)
    fields = ("text", "authorName", "rating", "submittedAt", "authorCompany")
    assert [mapping.columns[each] for each in fields] == [(name,) for name in names]


def test_a_title_is_a_role_beside_a_quote_and_none_beside_a_review() -> None:
    assert guess_mapping(["Name", "Title", "Quote"]).columns["authorRole"] == ("Title",)
    assert "authorRole" not in guess_mapping(["Name", "Title", "Body"]).columns


def test_the_file_of_a_google_profile_is_read() -> None:
    content = (
        '{"reviews": [{"name": "accounts/1/reviews/2", "reviewer": {"displayName": "Ann"}, '
        '"starRating": "FIVE", "comment": "(Translated by Google) Great\\n\\n(Original)\\nSuper", '
        '"createTime": "2024-03-12T08:30:15.123456Z", "reviewReply": {"comment": "Thanks!"}}]}'
    )
    table = read_table(content.encode())
    row = read_row(table.lines[0].cells, ReadingOptions(guess_mapping(table.headings))).columns
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
def test_ratings_are_read_as_they_are_written(text: str, stars: float | None) -> None:
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
def test_markup_becomes_words_and_other_signs_stay(text: str, words: str) -> None:
    assert read_markup(text) == words


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("short", "short"),
        ("It is good. It is very good.", "It is good. …"),
        ("Longer words without any end", "Longer words…"),
        ("x" * 30, "x" * 19 + "…"),
        ("とても良いです。また来ます。そしてまた、何度でも。", "とても良いです。また来ます。 …"),
        ("x" * 18 + "e\u0301" * 3, "x" * 18 + "…"),
    ],
)
def test_a_text_is_shortened_at_a_sentence_or_a_word(text: str, short: str) -> None:
    assert shorten(text, 20) == short
    assert len(shorten(text, 20)) <= 20
