"""What each table holds about people: why, whose it is, how long it is kept, and who gets it.

A test compares it with the tables. `{trash_days}` stands for a setting and its value. Ids, times
and yes-or-no columns are about their row alone, and need no mention (`record.is_structural`).
"""

from dataclasses import dataclass

AUTHOR, CUSTOMER, OWNER, VISITOR = (
    "authors",
    "customers who were asked",
    "account holders",
    "visitors",
)
PROJECT, ACCOUNT = "as long as the project", "as long as the account"
PUBLIC, ARCHIVE, WEBHOOK, PERSON, ZIP = (
    "the public", "project archives and tables", "webhooks", "the person’s export",
    "the account’s export",
)  # fmt: skip


@dataclass(frozen=True)
class Processed:
    """A table with personal data. `personal` and `others` name its columns, with spaces between."""

    purpose: str
    whose: str
    kept: str
    goes: tuple[str, ...]
    personal: str
    others: str = ""


@dataclass(frozen=True)
class Impersonal:
    """A table without personal data: what it holds, and its columns."""

    holds: str
    others: str = ""


TABLES: dict[str, Processed | Impersonal] = {
    "testimonial": Processed(
        "Show what customers say, with proof that they agreed",
        AUTHOR,
        f"{PROJECT}; {{trash_days}} in the trash; spam {{spam_days}}; rejected {{rejected_days}}; "
        "withdrawn {withdrawn_days}",
        (PUBLIC, ARCHIVE, WEBHOOK, PERSON),
        "author_name author_email author_role author_company author_avatar twitter text "
        "original_text answers consent_text consent_language purchase_reference reply",
        "status source kind rating submission_key import_key external_id held_for "
        "text_fingerprint form_name highlights rank",
    ),
    "testimonial_change": Processed(
        "Show and undo what was changed",
        f"{AUTHOR}, {OWNER}",
        "as long as the testimonial",
        (ARCHIVE, PERSON),
        "actor before",
        "action",
    ),
    "testimonial_tag": Processed(
        "Sort testimonials", AUTHOR, "as long as the testimonial", (ARCHIVE, PERSON), "name"
    ),
    "testimonial_picture": Processed(
        "A picture of a testimonial to share", AUTHOR, "as long as the testimonial", (PUBLIC,),
        "content", "look size fingerprint",
    ),
    "recording": Processed(
        "Show what customers say",
        AUTHOR,
        "as long as the testimonial; a day if it was never sent. The file is in `media`",
        (PUBLIC, ARCHIVE, WEBHOOK, PERSON),
        "transcript captions",
        "kind state size received media_type codecs seconds width height shows_transcript",
    ),
    "image": Processed(
        "Photos of authors, posters, logos", AUTHOR, "2 days after nothing shows it",
        (PUBLIC, ARCHIVE, PERSON), "content", "width height",
    ),
    "invitation": Processed(
        "Ask customers for a testimonial, once",
        CUSTOMER,
        f"{PROJECT}; if never answered {{request_days}}",
        (ARCHIVE, PERSON),
        "email email_hash name company purchase_reference",
    ),
    "invitation_batch": Processed(
        "How they were asked", OWNER, f"{PROJECT}; without people {{request_days}}",
        (ARCHIVE, PERSON), "actor", "subject message language form_name remind_after_days size",
    ),
    "unsubscribed_address": Processed(
        "Write no more to who doesn’t want it", CUSTOMER, ACCOUNT, (PERSON,), "email_hash"
    ),
    "abuse_report": Processed(
        "Tell the operator about a public page",
        VISITOR,
        f"{PROJECT}; {{report_days}} once it was settled",
        ("the operator",),
        "words",
        "page reason",
    ),
    "proposal": Processed(
        "What agents would change, and what was decided",
        f"{AUTHOR}, {OWNER}",
        f"{PROJECT}; {{proposal_days}} once it was decided",
        ("the API",),
        "values before reason result note actor_name",
        "kind status actor_kind",
    ),
    "outbox_mail": Processed(
        "Send mail, and show that it was sent",
        f"{CUSTOMER}, {AUTHOR}, {OWNER}",
        "{mail_days}; its text until it is sent",
        ("the mail server", PERSON),
        "recipient subject text html sender_name reply_to list_unsubscribe last_error",
        "purpose state attempts",
    ),
    "webhook_delivery": Processed(
        "Tell the owner’s programs what happened",
        AUTHOR,
        "{delivery_days}, the last 100 of each endpoint; words as long as the testimonial",
        (WEBHOOK,),
        "body",
        "event_type subject state tries leased_until attempts",
    ),
    "webhook_endpoint": Processed(
        "Where webhooks go", OWNER, PROJECT, ("the API",), "created_by",
        "url events secret old_secret old_secret_until read_to failing_since switched_off_because",
    ),
    "table_import": Processed(
        "Import testimonials from a table", f"{AUTHOR}, {OWNER}",
        f"{PROJECT}; the file until it is imported, for a day",
        (), "actor content outcome problem", "file_name state options total done added photos "
        "photos_done photos_to leased_until",
    ),
    "waiting_archive": Processed(
        "Import a project", AUTHOR, "a day", (), "content", "file_name"
    ),
    "idempotency_key": Processed(
        "Repeat an answer of the API", AUTHOR, "24 hours", ("the API",), "body",
        "owner key fingerprint status",
    ),
    "project": Processed(
        "The business, its page and its widget", OWNER, f"{PROJECT}; 7 days once it is deleted",
        (PUBLIC, ARCHIVE), "business_name page_config page_design",
        "status slug external_id widget_config dashboard_config widget_design widget_draft "
        "private_questions own_host purchase_secret feed_version",
    ),
    "account": Processed(
        "Who uses this service, and signs in", OWNER,
        f"{ACCOUNT}; {{claim_days}} if nobody claims it", (ZIP, PERSON),
        "email display_name password_hash key_hash key_last_four claim_nonce_hash own_nonce_hash "
        "billing_customer suspended_reason",
        "requires_strong project_limit plan browser_generation hides_widgets language",
    ),
    "former_address": Processed(
        "Take back an account whose address was changed", OWNER, "7 days", (ZIP, PERSON), "email"
    ),
    "session": Processed(
        "Stay signed in", OWNER, "30 days after its last use, at most {session_days}",
        (ZIP, PERSON), "label token_hash", "method",
    ),
    "link_request": Processed("Mail a link", OWNER, "until it is mailed", (), "email", "purpose"),
    "company_identity": Processed(
        "Sign in with a company’s account", OWNER, ACCOUNT, (PERSON,), "email subject issuer"
    ),
    "company_attempt": Processed(
        "A visit to the company’s sign-in", OWNER, "an hour", (), "browser_hash draft",
        "purpose verifier nonce target",
    ),
    "passkey": Processed(
        "Sign in without a password", OWNER, ACCOUNT, (PERSON,), "name public_key", "sign_count"
    ),
    "authenticator_app": Processed(
        "Prove more than a password", OWNER, ACCOUNT, (PERSON,), "secret", "last_step"
    ),
    "recovery_code": Processed("Sign in without the app", OWNER, ACCOUNT, (), "code_hash"),
    "billing_subscription": Processed(
        "Who pays for which plan", OWNER, f"{ACCOUNT}; 90 days without one", (ZIP,), "customer",
        "plan",
    ),
    "access_token": Processed(
        "Let programs use the API", OWNER, "{token_days} after it ended", (ZIP,), "name token_hash",
        "scopes last_four client last_used_for last_used_by",
    ),
    "access_request": Processed(
        "Let an agent ask for access", OWNER, "{token_days} after it ended", (ZIP,),
        "name reason asked_by", "scopes status",
    ),
    "oauth_code": Processed(
        "Let a program fetch a token", OWNER, "minutes", (), "code_hash client_hash",
        "scopes redirect_uri code_challenge token_days",
    ),
    "project_member": Processed("Who works in a project", OWNER, PROJECT, (ZIP,), "role"),
    "workspace_member": Processed(
        "Who works in all projects", OWNER, ACCOUNT, (ZIP,), "role", "source"
    ),
    "member_invitation": Processed(
        "Invite colleagues", "colleagues", "30 days after it expired", (PERSON,),
        "email invited_by nonce_hash", "role",
    ),
    "workspace_invitation": Processed(
        "Invite colleagues", "colleagues", "30 days after it expired", (PERSON,),
        "email nonce_hash", "role project_ids",
    ),
    "ownership_offer": Processed(
        "Hand over projects", OWNER, "until it is answered or expires", (), "receiver_id",
        "keeps_team",
    ),
    "notification_choice": Processed(
        "Who gets which mail", OWNER, PROJECT, (ZIP,), "mode",
        "told_until decides_by_mail",
    ),
    "event": Processed(
        "Show what happened, and who did it", OWNER,
        "{activity_days}; networks {network_days}", (ZIP, PERSON),
        "actor_name network details", "type actor_kind times",
    ),
    "erased": Processed(
        "Keep backups from bringing back what was erased", AUTHOR, "{erased_days}",
        ("`erased.json` beside backups",), "id", "kind",
    ),
    "rate_limit_counter": Processed(
        "Keep out floods", VISITOR, "an hour or a day", (), "key", "hits expires_at"
    ),
    "collection_form": Impersonal("Forms of a project", "name title design"),
    "saved_widget": Impersonal("Widgets of a project", "name config design draft"),
    "share_picture": Impersonal("A picture of a page", "fingerprint content"),
    "old_slug": Impersonal("Former addresses of pages", "slug"),
    "custom_domain": Impersonal(
        "Host names of pages", "host token missing_since serving_since points_to problem"
    ),
    "widget_sighting": Impersonal("Websites that show a widget", "origin"),
    "insight_day": Impersonal("Numbers by day", "day surface website views clicks"),
    "insight_funnel_day": Impersonal("Numbers by day", "day form opened started"),
    "insight_testimonial_day": Impersonal("Numbers by day", "day seen read"),
    "testimonial_count": Impersonal(
        "Numbers", "status kind source form_name halves part number rating_sum"
    ),
    "tag_count": Impersonal("Numbers", "name part number kept visible"),
    "day_count": Impersonal(
        "Numbers by day",
        "day part sent approved stars_1 stars_2 stars_3 stars_4 stars_5 rating_sum",
    ),
    "answer_count": Impersonal("Numbers", "part number"),
    "background_job": Impersonal(
        "When jobs ran", "name leased_until leased_by error"
    ),
    "secret_mark": Impersonal("Whether the secret is the same", "mark"),
    "stored_backup": Impersonal("Names of backups", "name size place"),
    "widget_script": Impersonal("Versions of the widget’s script", "digest content"),
}  # fmt: skip
