"""Browser tests of what agents and integrations do."""
