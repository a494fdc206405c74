"""The main job on real input, as `scripts/journey` does it."""

from pathlib import Path

import pytest

from tests.journey import TESTIMONIALS, run_journey


@pytest.mark.browser
@pytest.mark.process
def test_from_agent_init_to_the_widget_on_a_page_of_another_origin(tmp_path: Path) -> None:
    picture = tmp_path / "widget.png"
    assert run_journey(picture) == len(TESTIMONIALS)
    assert picture.read_bytes().startswith(b"\x89PNG")
