"""SQL statements in a row."""

from sqlalchemy import Connection

# Between two of them.
SEPARATOR = ";\n\n"


def run_statements(connection: Connection, statements: str) -> None:
    """Run all statements as they are written."""
    for statement in statements.strip().split(SEPARATOR):
        connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
