"""OAuth 2.1 for MCP clients: connecting without copying a token."""
