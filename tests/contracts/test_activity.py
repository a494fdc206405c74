"""Every door that changes something records it, or is named here with the reason why not."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache

import click

from testimonials.core.audit import EventType
from testimonials.dashboard.activity import GROUPS
from testimonials.projects.changes import CHANGES
from tests.contracts.test_architecture import PACKAGE, modules
from tests.support.commands import COMMANDS
from tests.support.commands import GROUPS as COMMAND_GROUPS

# Which kind of change it makes, and with it the event, is known when it is called.
CARRIED_OUT = "projects.proposals_api.carry_out"
RECORDERS = {CARRIED_OUT, "core.audit.record", "core.audit.record_changes"}
ASKING = "Anybody can have a mail sent; what its link does is recorded."
AWAY = "It sends the browser away; what it comes back with is recorded."
FORGOTTEN = "An address is deleted so that nothing of it is kept."
PREFERENCE = "It concerns nobody but the person who chooses it."
WRITES_NOTHING = "It writes nothing."
SENDING = "The log of deliveries has it."
COUNTED = "It counts what visitors saw, in numbers."
UNSENT = "The form that it is sent with is recorded."
DRAFT = "A draft is a change once it is published."
WAITING = "A file is a change once it is imported."
SILENT_VIEWS = {
    "auth.go_to_company": AWAY, "dashboard.account.prove_by_company": AWAY,
    "auth.send_new_link": ASKING, "auth.sign_up": ASKING, "auth.send_reset_link": ASKING,
    "auth.begin_claim_by_passkey": WRITES_NOTHING, "auth.begin_passkey": WRITES_NOTHING,
    "dashboard.account.begin_proof": WRITES_NOTHING,
    "dashboard.account.prove_needed": WRITES_NOTHING,
    "dashboard.account.show_new_passkey": WRITES_NOTHING,
    "dashboard.account.show_new_app": WRITES_NOTHING,
    "dashboard.account.begin_addition": WRITES_NOTHING, "collection.mail_own_link": ASKING,
    "collection.note_opened": "The list of who was asked says it.",
    "collection.note_started": "The list of who was asked says it.",
    "collection.take_answer": "The list of who was asked says it.",
    "dashboard.collect.remove_request": FORGOTTEN, "collection.delete_request": FORGOTTEN,
    "projects.end_mails": PREFERENCE, "dashboard.settings.save_mail": PREFERENCE,
    "dashboard.home.hide_steps": PREFERENCE, "dashboard.account.change_language": PREFERENCE,
    "dashboard.home.choose_theme": PREFERENCE,
    "agents.answer_agent": "What a tool does is recorded by the view that it runs.",
    "oauth.register": WRITES_NOTHING,
    "dashboard.account.take_mailed_proof": "What the proof is for is recorded.",
    "collection.create_purchase_link": "What is written by it is recorded.",
    "dashboard.collect.preview_requests": WRITES_NOTHING,
    "dashboard.collect.show_file": WRITES_NOTHING,
    "dashboard.collect.check_people": WRITES_NOTHING,
    "dashboard.settings.upload_import": WAITING,
    "dashboard.settings.change_import": WAITING,
    "dashboard.settings.start_import": "The background records what it imports.",
    "dashboard.settings.stop_import": "The background has recorded what it imported.",
    "dashboard.widget.put_on_look": DRAFT,
    "webhooks.test_webhook": SENDING, "dashboard.settings.test_webhook": SENDING,
    "dashboard.settings.redeliver_one": SENDING, "dashboard.settings.redeliver_since": SENDING,
    "webhooks.redeliver_webhook": SENDING, "dashboard.widget.discard_changes": DRAFT,
    "dashboard.widget.undo": DRAFT, "dashboard.widget.change_order": DRAFT,
    "media.begin_upload": UNSENT, "media.append_piece": UNSENT, "media.set_poster": UNSENT,
    "media.discard_upload": UNSENT, "analytics.note_seen": COUNTED,
}  # fmt: skip
READS = "It only reads."
INSTANCE = "It is about the instance, of which its log and its files tell."
SILENT_COMMANDS = {
    "accounts list": READS, "accounts show": READS, "activity list": READS, "tokens list": READS,
    "projects brand": READS,
    "projects list": READS, "team list": READS, "proposals list": READS, "forms list": READS,
    "projects show": READS, "projects insights": READS, "testimonials list": READS,
    "recordings list": READS, "testimonials imports": READS, "domains list": READS,
    "webhooks list": READS, "webhooks deliveries": READS, "webhooks redeliver": SENDING,
    "webhooks send-test": SENDING, "mail list": READS, "reports list": READS, "mail show": READS,
    "mail test": INSTANCE, "db upgrade": INSTANCE, "db check": READS, "db reindex": INSTANCE,
    "db move": INSTANCE, "db forget-secret": INSTANCE, "db current": READS, "config show": READS,
    "backup make": INSTANCE, "backup now": INSTANCE, "backup list": READS,
    "backup drop": INSTANCE, "prune": INSTANCE,
    "doctor": READS, "verify": READS, "record rotate-key": INSTANCE,
}  # fmt: skip


@cache
def calls() -> dict[str, set[str]]:
    """Name what each function of the package refers to: functions of its module or imported."""
    found: dict[str, set[str]] = {}
    for module in modules().values():
        known = {
            node.name: f"{module.name}.{node.name}"
            for node in module.tree.body
            if isinstance(node, ast.FunctionDef)
        }
        for node in module.tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                base = (node.module or "").partition(".")[2]
                known |= {
                    alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names
                }
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef):
                names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                parts = {
                    f"{known[each.value.id]}.{each.attr}"
                    for each in ast.walk(node)
                    if isinstance(each, ast.Attribute)
                    and isinstance(each.value, ast.Name)
                    and each.value.id in known
                }
                led_to = {known[name] for name in names & known.keys()}
                found[f"{module.name}.{node.name}"] = led_to | parts
    return found


def records(name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Tell whether a function, or one that it leads to, records an event."""
    return name in RECORDERS or any(
        records(each, seen | {name}) for each in calls().get(name, set()) - seen
    )


def name_of(function: object) -> str:
    """Return the dotted name of a view or command beneath its decorators."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    module, name = function.__module__, function.__name__  # type: ignore[attr-defined]
    return f"{module.partition('.')[2]}.{name}"


def each_command() -> Iterator[tuple[str, click.Command]]:
    for group in COMMAND_GROUPS:
        for name, command in group.commands.items():
            yield f"{group.name} {name}", command
    for command in COMMANDS:
        yield str(command.name), command


def records_by_view(view: object) -> bool:
    """Tell whether a view records an event, or the change that it declares."""
    change = getattr(getattr(view, "operation", None), "change", None)
    return records(name_of(CHANGES[change].apply if change else view))


def test_each_door_that_changes_something_records_it(described_app):
    views = {
        rule.endpoint: records_by_view(described_app.view_functions[rule.endpoint])
        for rule in described_app.url_map.iter_rules()
        if (rule.methods or set()) - {"GET", "HEAD", "OPTIONS"}
    }
    commands = {name: records(name_of(command.callback)) for name, command in each_command()}
    for doors, silent in ((views, SILENT_VIEWS), (commands, SILENT_COMMANDS)):
        assert {name for name, is_recorded in doors.items() if not is_recorded} == silent.keys()


def test_each_type_can_be_told_and_is_written_somewhere():
    subjects = {subject for group in GROUPS.values() for subject in group}
    assert [
        type for type in EventType.known.values() if type.partition(".")[0] not in subjects
    ] == []
    declared = {}
    for module in modules().values():
        for node in module.tree.body:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and ast.unparse(node.value.func).endswith("EventType")
            ):
                declared[ast.unparse(node.targets[0])] = ast.literal_eval(node.value.args[0])
    assert set(declared.values()) == EventType.known.keys()
    used = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for module in modules().values()
        for node in module.nodes
        if isinstance(node, ast.Name | ast.Attribute)
    )
    assert [name for name in declared if used[name] < 2] == []


def test_each_kind_of_change_by_agents_is_recorded():
    assert [name for name, each in CHANGES.items() if not records(name_of(each.apply))] == []
