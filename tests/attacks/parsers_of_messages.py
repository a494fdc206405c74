"""Parsers of what programs and browsers send."""

from typing import Any
from urllib.parse import urlsplit

from testimonials.core.text import is_web_url
from tests.attacks.parsing import BROWSER, Attacked, Parser, as_header, as_text, parser, take
from tests.auth.links import ORIGIN
from tests.integrations.mcp.talking import META
from tests.integrations.oauth.asking import CHALLENGE as PROOF
from tests.integrations.oauth.asking import REDIRECT_URI, ask_to_connect
from tests.support.mutating import to_json
from tests.support.pictures import photo, to_bytes
from tests.testimonials.media import recorded


def as_unicode(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode()


# What programs send.
@parser("OAuth: registration")
def _(attacked: Attacked) -> Parser:
    def read(sample: Any) -> None:
        headers = {"Content-Type": "application/json"}
        made = attacked.knock("/oauth/register", "POST", data=as_text(sample), headers=headers)
        for uri in made.json["redirect_uris"] if made.status_code == 201 else ():  # type: ignore[index]
            asked = {
                "client_id": made.json["client_id"], "redirect_uri": uri, "response_type": "code",
                "code_challenge": PROOF.rstrip("="), "code_challenge_method": "S256",
            }  # fmt: skip
            attacked.knock("/oauth/authorize", query_string=asked, by=attacked.browser)

    uris = [REDIRECT_URI, "http://127.0.0.1:6274/oauth/callback?a=b", "https://a.example:8443/x"]
    body = {"client_name": "Shop", "redirect_uris": uris, "grant_types": ["authorization_code"]}
    return Parser([body, to_json(body), to_json({"redirect_uris": uris[1:2]})], read)


@parser("OAuth: the consent and the token")
def _(attacked: Attacked) -> Parser:
    def read(sample: Any) -> None:
        sent = sample if isinstance(sample, dict) else {"client_id": sample}
        sent = {as_unicode(name): as_unicode(each) for name, each in sent.items()}
        attacked.knock("/oauth/authorize", query_string=sent, by=attacked.browser)
        attacked.knock("/oauth/token", "POST", data=sent)

    asked = ask_to_connect(attacked.app.test_client())
    grant = {"grant_type": "authorization_code", "code": "c" * 43, "code_verifier": "v" * 43}
    return Parser([asked, asked | grant], read)


@parser("MCP")
def _(attacked: Attacked) -> Parser:
    listing = {"limit": 3, "projectId": attacked.project_id}
    setup = {"dryRun": True, "externalId": "a", "project": {"businessName": "Oats"}}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("tools/list", {}),
        ("tools/call", {"name": "list_testimonials", "arguments": listing}),
        ("tools/call", {"name": "set_up_project", "arguments": setup}),
        ("prompts/get", {"name": "set_up", "arguments": {"business": "Oats"}}),
        ("resources/read", {"uri": f"testimonials://projects/{attacked.project_id}/wall"}),
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}),
    )

    def read(sample: Any) -> None:
        headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25"}
        params = sample.get("params") if isinstance(sample, dict) else None
        if isinstance(params, dict) and "_meta" in params:
            named = str(params.get("name") or params.get("uri"))
            headers |= {
                "MCP-Protocol-Version": "2026-07-28", "Mcp-Name": as_header(named),
                "Mcp-Method": as_header(str(sample.get("method"))),
            }  # fmt: skip
        headers |= attacked.token.headers
        attacked.knock("/mcp", "POST", data=as_text(sample), headers=headers)

    plain = [{"jsonrpc": "2.0", "id": 7, "method": name, "params": more} for name, more in calls]
    current = [each | {"params": each["params"] | {"_meta": META}} for each in plain]
    return Parser([*plain, *current, to_json(plain[1]), to_json(plain[2])], read)


@parser("addresses of pages")
def _(attacked: Attacked) -> Parser:
    def read(text: str) -> None:
        if is_web_url(text):
            # What is taken can be taken apart anywhere.
            assert urlsplit(text).port != -1

    return Parser(["https://bücher.example:8443/a?b=c#d", "http://a.b-c.example"], read)


@parser("cursors and numbers in addresses")
def _(attacked: Attacked) -> Parser:
    for _n in range(3):
        attacked.token.create_testimonial(attacked.project_id, rating=4.5)
    where = f"/v1/projects/{attacked.project_id}"
    listed = attacked.knock(
        f"{where}/testimonials?limit=1", by=attacked.token.client, headers=attacked.token.headers
    )
    feed = attacked.knock(f"/widget/{attacked.project_id}/data?limit=1")
    after = "1764000000000-" + "0" * 24
    samples = [
        "5", after, "MC4xNzY0MDAwMDAwMDAwLjAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMC40LjU",
        "2026-03-12T10:00:00Z", "bread", "0" * 24,
    ]  # fmt: skip
    assert listed.status_code == 200, feed.text

    def read(text: str) -> None:
        text = as_unicode(text)
        path = take(("testimonials", "events", "insights", "submissions"), 1)[0]
        for name in take(("after", "limit", "since", "days", "status", "offset"), 2):
            sent = {name: text}
            attacked.knock(f"{where}/{path}", query_string=sent, headers=attacked.token.headers)
        names = ("after", "limit", "tag", "min", "id", "lang", "layout", "theme", "widget")
        sent = dict.fromkeys(names, text)
        for path in take(("{}/data", "{}", "{}/fragment", "{}/newsletter", "/bakery/wall"), 1):
            path = path.replace("{}", f"/widget/{attacked.project_id}")
            attacked.knock(path, query_string=take((sent, {"after": text}), 1)[0])

    return Parser(samples, read)


@parser("beacons of views")
def _(attacked: Attacked) -> Parser:
    row = attacked.token.create_testimonial(attacked.project_id)["_id"]
    headers = {"User-Agent": BROWSER, "Origin": "https://bakery.example:8443"}
    body = {"surface": "widget", "view": True, "clicks": 2, "seen": [row], "read": [row]}
    form = {"surface": "form", "form": "after-class", "opened": True, "started": True}

    def read(sample: Any) -> None:
        path = f"/widget/{attacked.project_id}/seen"
        for origin in (headers["Origin"], ORIGIN):
            sent = headers | {"Origin": origin}
            attacked.knock(path, "POST", data=as_text(sample), headers=sent)

    return Parser([body, form, to_json(body)], read)


@parser("headers")
def _(attacked: Attacked) -> Parser:
    project = attacked.project_id
    recording = recorded.upload(attacked.app.test_client(), recorded.VOICE, "voice")
    headers = {
        "HTTP_HOST": "testimonials.example.com:443", "HTTP_RANGE": "bytes=0-99",
        "HTTP_IF_RANGE": '"a"', "HTTP_IF_MATCH": '"0123456789abcdef0123"',
        "HTTP_IF_NONE_MATCH": 'W/"a", "b"', "HTTP_IDEMPOTENCY_KEY": '"a key \\" of one"',
        "HTTP_ACCEPT_LANGUAGE": "de-AT;q=0.9, en;q=0.5", "HTTP_ACCEPT": "application/json;q=1",
        "HTTP_ACCEPT_ENCODING": "gzip, br;q=0.5",
        "HTTP_COOKIE": "__Host-testimonials=abc; __Host-testimonials-known-1=a.b.c",
        "HTTP_ORIGIN": "https://a.example:8443", "HTTP_REFERER": "https://a.example:8443/x",
        "HTTP_SEC_FETCH_SITE": "same-origin", "HTTP_USER_AGENT": BROWSER,
        "HTTP_X_FORWARDED_FOR": "198.51.100.7, 2001:db8::1",
        "HTTP_X_FORWARDED_HOST": "words.bakery.example:8443", "HTTP_X_FORWARDED_PROTO": "https",
        "HTTP_X_FORWARDED_PORT": "8443", "HTTP_X_FORWARDED_PREFIX": "/a",
        "HTTP_AUTHORIZATION": "Bearer tst_pat_abc", "HTTP_X_SERVICE_ACCOUNT_ID": "0" * 24,
        "HTTP_X_API_KEY": "tst_key_abc", "HTTP_UPLOAD_OFFSET": "12", "CONTENT_LENGTH": "2",
        "CONTENT_TYPE": "application/json; charset=utf-8", "HTTP_X_REQUEST_ID": "abc-123",
        "HTTP_DATE": "Tue, 24 Nov 2026 10:00:00 GMT", "REMOTE_ADDR": "198.51.100.7",
        "HTTP_MCP_PROTOCOL_VERSION": "2026-07-28", "HTTP_STRIPE_SIGNATURE": "t=1,v1=a",
        "HTTP_IF_MODIFIED_SINCE": "Tue, 24 Nov 2026 10:00:00 GMT",
    }  # fmt: skip
    doors = (
        ("/bakery", "GET"), ("/login", "GET"), (f"/media/recordings/{recording}", "GET"),
        (f"/widget/{project}/data", "GET"), ("/login", "POST"), ("/dashboard", "GET"),
        ("/bakery/recordings/" + "0" * 24, "PATCH"), ("/mcp", "POST"),
        (f"/v1/projects/{project}", "PATCH"), ("/v1/me", "GET"), ("/healthz", "GET"),
        ("/nowhere", "GET"), (f"/widget/{project}/seen", "POST"), ("/widget/v1.js", "GET"),
        ("/webhooks/stripe", "POST"),
    )  # fmt: skip
    whole = dict(attacked.token.headers.items())

    def read(sample: dict[str, str]) -> None:
        if not isinstance(sample, dict):
            return
        sent = {as_header(str(name)): as_header(str(value)) for name, value in sample.items()}
        for path, method in take(doors, 2):
            own = whole if path.startswith("/v1/p") else {}
            attacked.knock(path, method, data=b"{}", headers=own, environ_overrides=sent)

    return Parser([{name: value} for name, value in headers.items()], read)


@parser("multipart forms")
def _(attacked: Attacked) -> Parser:
    assert attacked.project_id
    kind = "multipart/form-data; boundary=edge"
    token = recorded.form_token(attacked.app.test_client())
    parts = {"token": token, "text": "They listened.", "name": "Theo", "consent": "yes"}
    parts |= {"rating": "5"}
    body = "".join(
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parts.items()
    )
    photo_part = (
        '--edge\r\nContent-Disposition: form-data; name="photo"; filename="a.png"\r\n'
        "Content-Type: image/png\r\n\r\n"
    )
    whole = body.encode() + photo_part.encode() + to_bytes(photo(8, 8), "PNG") + b"\r\n--edge--\r\n"

    def read(sample: bytes) -> None:
        attacked.knock("/bakery", "POST", data=sample, content_type=kind)

    return Parser([body.encode() + b"--edge--\r\n", body.encode() + b"--edge--\r\n", whole], read)
