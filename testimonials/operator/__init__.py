"""The pages of whoever runs the service, and reports of abuse."""
