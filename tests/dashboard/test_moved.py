"""Former addresses lead to where their pages are now."""

from testimonials.dashboard.moved import MOVED
from tests.attacks.conftest import world as world
from tests.attacks.world import find_doors


def test_former_addresses_lead_to_their_pages(app, world):
    browser = world.open(app, "owner")
    doors = [door for door in find_doors(app) if door.method == "GET" and door.rule.rule in MOVED]
    assert {door.rule.rule for door in doors} == MOVED.keys()
    for door in doors:
        path = world.path(door)
        place = browser.get(f"{path}?page=2&_scheme=http&_method=DELETE").location
        assert place.partition("?")[0] != path
        assert place.startswith("/dashboard/")
        assert "page=2" in place
        assert browser.get(place, follow_redirects=True).status_code == 200, path
        assert app.test_client().get(path).location.startswith("/login?")
