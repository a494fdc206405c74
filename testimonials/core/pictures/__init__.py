"""Pictures that people upload, and colours."""
