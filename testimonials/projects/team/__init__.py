"""The colleagues of a project, and their invitations."""
