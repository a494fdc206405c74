"""The blueprints of all packages; `routes.txt` lists the modules with their views."""

from testimonials.core.http.resource import Blueprint

auth = Blueprint("auth", __name__)
projects = Blueprint("projects", __name__)
testimonials = Blueprint("testimonials", __name__)
widget = Blueprint("widget", __name__)
collection = Blueprint("collection", __name__)
authors = Blueprint("authors", __name__)
media = Blueprint("media", __name__)
wall = Blueprint("wall", __name__)
analytics = Blueprint("analytics", __name__)
webhooks = Blueprint("webhooks", __name__)
agents = Blueprint("agents", __name__)
oauth = Blueprint("oauth", __name__)
transfer = Blueprint("transfer", __name__)
dashboard = Blueprint("dashboard", __name__)
admin = Blueprint("admin", __name__)
site = Blueprint("site", __name__)
ALL = (
    auth, projects, testimonials, widget, collection, authors, media, wall, analytics, webhooks,
    agents, oauth, transfer, dashboard, admin, site,
)  # fmt: skip

# Inside the dashboard.
home = Blueprint("home", __name__)
inbox = Blueprint("inbox", __name__)
widget_pages = Blueprint("widget", __name__)
collect = Blueprint("collect", __name__)
insights = Blueprint("insights", __name__)
settings = Blueprint("settings", __name__)
people = Blueprint("people", __name__)
account = Blueprint("account", __name__)
for _part in (home, inbox, widget_pages, collect, insights, settings, people, account):
    dashboard.register_blueprint(_part)
