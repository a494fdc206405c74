"""PostgreSQL tells every host when a project changes."""

from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"

# What is told is the project's id, with a minus before it once it is gone; nothing for all of them.
TELL = """
CREATE FUNCTION tell_project_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'account' THEN
        PERFORM pg_notify('testimonials_versions', '');
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM pg_notify('testimonials_versions', '-' || OLD.id);
    ELSIF NEW.deleted_at IS NOT NULL THEN
        PERFORM pg_notify('testimonials_versions', '-' || NEW.id);
    ELSE
        PERFORM pg_notify('testimonials_versions', NEW.id);
    END IF;
    RETURN NULL;
END
$$
"""
TRIGGERS = (
    "CREATE TRIGGER tell_project_changed AFTER UPDATE ON project FOR EACH ROW "
    "WHEN (OLD.feed_version <> NEW.feed_version OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) "
    "EXECUTE FUNCTION tell_project_changed()",
    "CREATE TRIGGER tell_project_removed AFTER DELETE ON project FOR EACH ROW "
    "EXECUTE FUNCTION tell_project_changed()",
    "CREATE TRIGGER tell_account_changed AFTER UPDATE ON account FOR EACH ROW "
    "WHEN (OLD.claimed_at IS DISTINCT FROM NEW.claimed_at "
    "OR OLD.claim_expires_at IS DISTINCT FROM NEW.claim_expires_at) "
    "EXECUTE FUNCTION tell_project_changed()",
)


def upgrade() -> None:
    """Change the schema."""
    if op.get_bind().dialect.name == "postgresql":
        for statement in (TELL, *TRIGGERS):
            op.execute(statement)
