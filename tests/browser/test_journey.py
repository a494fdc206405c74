"""The main job on real input, as `scripts/journey` does it."""

from concurrent.futures import ThreadPoolExecutor

from tools.journey import TESTIMONIALS, run_journey


def test_from_agent_init_to_the_widget_on_a_page_of_another_origin(tmp_path):
    picture = tmp_path / "widget.png"
    # It starts a browser of its own, and one thread can hold but one.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run_journey, picture).result() == len(TESTIMONIALS)
    assert picture.read_bytes().startswith(b"\x89PNG")
