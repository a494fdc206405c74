"""The initials and colours of people without a picture are the same from server and script."""

import pytest

from testimonials.core.images.colors import colour_of, initials_of
from testimonials.widget.script import FOLDER
from tests.browser.conftest import OpenPage

pytestmark = [pytest.mark.browser]

NAMES = [
    *("Maya Kowalski", "(Anna) Smith", "Anna (Annie) Smith", "  anna \t de la  smith ", "- Anna -"),
    *("_anna_ smith", "“Maya” O’Neil", "#1 fan", "3 Musketeers", "½ Ⅷ ²", "", "...", "ß schmidt"),
    *("ﬁona ǆ", "İstanbul ırmak", "A\u0301nna e\u20dd", "x\u00ad \u00adx", "Anna\u00a0Smith"),
    *("Anna\u3000Smith", "Anna\u0085Smith", "\ufeffAnna\ufeffSmith", "\u200banna \u200bsmith"),
    *("\u202eAnna Smith\u202c", "\u200fAnna \u2067Smith\u2069", "a\u200db c", "a\u200cb c"),
    *("😀", "😀 Anna", "Anna 😀", "👩‍👩‍👧 Maya", "a🏻 b", "🇩🇪 Anna", "3️⃣ x", "𝒜nna 𝐁"),
    *(
        "山田 さくら",
        "山田太郎",
        "𠮷野 家",
        "김 민준",
        "\u1112\u1161\u11ab x",
        "ليلى منصور",
        "٣ نجوم",
    ),
    *("क्षिति शर्मा", "प्रिया", "த்ரிஷா க்ஷ", "ก็ ก", "ა ბ", "ΐ ά"),
]


def test_server_and_script_agree_on_every_name(open_page: OpenPage) -> None:
    source = (FOLDER / "pieces" / "face.js").read_text(encoding="utf-8")
    functions = source.partition("// People’s photos")[0]
    page = open_page("about:blank")
    found = page.evaluate(
        f"""names => {{
          {functions}
          return names.map((name) => [initials(name), hash(name)]);
        }}""",
        NAMES,
    )
    expected = [[initials_of(name), colour_of(name)] for name in NAMES]
    assert dict(zip(NAMES, found, strict=True)) == dict(zip(NAMES, expected, strict=True))
