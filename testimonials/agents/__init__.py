"""What agents connect to beyond single calls: setup in one call, MCP, OAuth."""
