"""The Integrations page: access tokens, agents, webhooks, and who did what."""
