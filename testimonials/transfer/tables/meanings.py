"""The headings by which columns are recognised: those of known services, and words for the fields
in the languages of the collection page.

They are compared without case, accents, spaces and punctuation; those further left win.
"""

import re

from testimonials.core.text_rules import normalize

_WORDS: dict[str, tuple[str, ...]] = {
    "text": (
        "text, testimonial, testimonial text, quote, review, review text, review body, "
        "review content, review message, post content, content, body, words, feedback, message, "
        "comment, comments, review comment",
        "Bewertungstext, Rezension, Kundenstimme, Zitat, Kommentar, Meinung, Nachricht",
        "témoignage, avis, commentaire, citation, texte, contenu",
        "testimonio, reseña, opinión, comentario, texto, contenido",
        "testimonianza, recensione, commento, testo, citazione, opinione, contenuto",
        "depoimento, testemunho, avaliação, comentário, resenha, conteúdo",
        "getuigenis, beoordeling, recensie, opmerking, reactie, tekst, inhoud",
        "opinia, referencja, rekomendacja, komentarz, recenzja, treść, tekst",
        "omdöme, recension, kommentar, vittnesmål, innehåll",
        "yorum, görüş, değerlendirme, metin, mesaj, içerik",
        "感想, お客様の声, 口コミ, クチコミ, レビュー, レビュー本文, コメント, 本文, 推薦文, 内容",
        "الشهادة, شهادة, الرأي, رأي, التعليق, تعليق, المراجعة, مراجعة, النص, نص",
        # It may be the rating, which takes it if another column has the text.
        "Bewertung",
    ),
    "authorName": (
        "author name, author display name, reviewer display name, consumer display name, "
        "display name, customer name, reviewer name, client name, buyer name, consumer name, "
        "review username, review user name, review display, full name, name, author, reviewer, "
        "customer, client, nickname, username, user name, user, author nickname",
        "Autor, Verfasser, Kunde, Kundenname, Vollständiger Name",
        "nom, nom complet, auteur, client, nom du client, prénom et nom",
        "nombre, nombre completo, autor, cliente, nombre del cliente",
        "nome, nome completo, autore, cliente, nome cliente",
        "nome do cliente, naam, volledige naam, klant, klantnaam, auteur",
        "nazwa, imię i nazwisko, autor, klient, namn, författare, kund, kundnamn",
        "ad soyad, adı soyadı, isim, yazar, müşteri, müşteri adı",
        "名前, お名前, 氏名, 投稿者, 投稿者名, ニックネーム, 顧客名, お客様名",
        "الاسم, اسم, الاسم الكامل, الكاتب, العميل, اسم العميل, المؤلف",
    ),
    "authorRole": (
        "author role, customer tagline, role, job title, job role, tagline, position, job, "
        "author title, occupation, profession, client title, author position",
        "Rolle, Position, Beruf, Funktion, Jobtitel",
        "rôle, poste, fonction, métier, profession",
        "rol, cargo, puesto, ocupación, profesión",
        "ruolo, posizione, professione, mansione",
        "função, profissão, functie, rol, beroep, stanowisko, rola, zawód",
        "roll, titel, befattning, yrke, rol, unvan, görev, meslek",
        "役職, 肩書き, 肩書, 職業, 職種, المنصب, الدور, الوظيفة, المسمى الوظيفي",
    ),
    "authorCompany": (
        "author company, customer company, company, company name, client company, organization, "
        "organisation, business, business name, employer, author organization",
        "Firma, Unternehmen, Organisation, Firmenname",
        "entreprise, société, organisation, empresa, compañía, organización",
        "azienda, società, impresa, organizzazione, companhia, organização",
        "bedrijf, bedrijfsnaam, organisatie, nazwa firmy, organizacja, företag",
        "şirket, firma, kurum, 会社, 会社名, 企業, 企業名, 組織, الشركة, شركة, اسم الشركة, المؤسسة",
    ),
    "authorEmail": (
        "author email, customer email, email, email address, mail, reviewer email, client email, "
        "user email, review user email, consumer email, buyer email, e-mail-adresse",
        "E-Mail, courriel, adresse e-mail, correo, correo electrónico, indirizzo email, posta",
        "endereço de e-mail, e-mailadres, adres e-mail, e-postadress, e-post, e-posta",
        "メール, メールアドレス, البريد الإلكتروني, البريد, الإيميل",
    ),
    "authorAvatar": (
        "author avatar, customer avatar, reviewer avatar, avatar, avatar url, author photo, "
        "author image, customer photo, client photo, reviewer profile photo url, photo, photo url, "
        "picture, picture url, profile image, profile image url, profile picture, profile photo, "
        "profile photo url, image, image url, headshot, author avatar url, customer avatar url",
        "Foto, Bild, Profilbild, photo de profil, foto de perfil, foto del profilo, imagen",
        "imagem, immagine, profielfoto, afbeelding, zdjęcie, profilbild, bild, fotoğraf, resim",
        "写真, 画像, アイコン, プロフィール画像, الصورة, صورة, صورة الملف الشخصي",
    ),
    "rating": (
        "rating, stars, star rating, review rating, review stars, review score, score, "
        "rating value, star",
        "Sterne, Bewertung, Note, étoiles, note, évaluation, estrellas, calificación, valoración",
        "puntuación, stelle, valutazione, voto, estrelas, nota, avaliação, classificação",
        "sterren, beoordeling, waardering, cijfer, gwiazdki, ocena, liczba gwiazdek",
        "stjärnor, betyg, yıldız, puan, değerlendirme",
        "評価, 星, 星の数, 点数, 評点, التقييم, تقييم, النجوم, عدد النجوم",
    ),
    "submittedAt": (
        "submitted at, date, date created, created at, created, create time, created time, "
        "review date, review created, review created utc, review created at, submitted, "
        "submission date, date submitted, publish time, published at, published date, "
        "published on, post date, time, timestamp, review time",
        "Datum, Erstellt am, Bewertungsdatum, date de création, date de l'avis, fecha",
        "fecha de creación, data, data di creazione, data de criação, aanmaakdatum",
        "data utworzenia, data dodania, skapad, tarih, oluşturulma tarihi",
        "日付, 日時, 投稿日, 作成日, 投稿日時, التاريخ, تاريخ, تاريخ الإنشاء",
    ),
    "tags": (
        "tags, tag, labels, Schlagwörter, étiquettes, mots-clés, etiquetas, etichette",
        "trefwoorden, tagi, etykiety, taggar, etiketter, etiketler, タグ, الوسوم, وسوم",
    ),
    "status": (
        "status, approved, state, review status, curated, published, Freigegeben, statut, état",
        "estado, stato, estatus, stan, durum, ステータス, 状態, الحالة, حالة",
    ),
    "highlights": ("highlights, highlighted words",),
    "reply": (
        "reply, public reply, owner reply, review reply, review reply comment, company reply, "
        "company reply text, reply text, business response, response, comment content, "
        "reply content, owner response",
        "Antwort, réponse, respuesta, risposta, resposta, antwoord, odpowiedź, svar, yanıt",
        "cevap, 返信, 回答, الرد, رد",
    ),
    "repliedAt": (
        "replied at, reply date, review reply update time, company reply date, reply created at",
    ),
    "pinned": ("pinned, is pinned, featured, Angeheftet, épinglé, fijado",),
}
_FIRST = "first name, given name, Vorname, prénom, primer nombre, nombre de pila, voornaam, imię"
_LAST = "last name, surname, family name, Nachname, nom de famille, apellido, apellidos, cognome"
# What stands above reviews, or below a person's name.
_TITLES = "title, headline"
# Headings of the text beside which a title is the person's.
_SAID = "testimonial, testimonial text, quote, Kundenstimme, témoignage, testimonio, depoimento"

# Beside a last name, these are the first.
_BARE = "name, nom, nombre, nome, naam, namn, isim"
# What a shop's reviews have beside them; their pictures then are of products.
_PRODUCTS = "product handle, product id, handle, sku, product title"
_PICTURES = "photo, photo url, picture, picture url, image, image url"

# Headings that only one service uses.
OWN, SENJA, TESTIMONIAL_TO, GOOGLE = "Testimonials", "Senja", "Testimonial.to", "Google"
_MARKS = {
    OWN: "author name, submitted at, consent text",
    SENJA: "customer name, customer tagline",
    TESTIMONIAL_TO: "testimonial, avatar url",
    GOOGLE: "star rating, reviewer display name",
    "Judge.me": "body, reviewer name, picture urls",
    "Loox": "nickname, review, verified purchase",
    "Yotpo": "review content, review score",
    "Stamped": "review message, review rating",
    "Okendo": "body, date created, sku",
    "Trustpilot": "review username, review stars",
    "Facebook": "recommendation type, review text",
}


def fold(heading: str) -> str:
    """Return a heading as it is compared."""
    return re.sub(r"[\W_]+", "", normalize("NFKD", heading.casefold()))


def _split(*lists: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fold(each) for part in lists for each in part.split(", ")))


MEANINGS = {field: _split(*lists) for field, lists in _WORDS.items()}
FIRST_NAMES, LAST_NAMES = (
    _split(_FIRST, "nome proprio, förnamn, ad, 名"),
    _split(_LAST, "sobrenome, achternaam, nazwisko, efternamn, soyad, soyadı, 姓"),
)
BARE_NAMES = frozenset(_split(_BARE))
PRODUCTS, PICTURES = frozenset(_split(_PRODUCTS)), _split(_PICTURES)
TITLES, SAID = _split(_TITLES), frozenset(_split(_SAID))
MARKS = {service: frozenset(_split(marks)) for service, marks in _MARKS.items()}
