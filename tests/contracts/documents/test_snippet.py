"""The snippet that the documents show is the one that the API returns."""

from pathlib import Path

from tests.conftest import Caller

ROOT = Path(__file__).parents[3]


def test_documents_show_the_snippet_that_the_api_returns(owner: Caller) -> None:
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
