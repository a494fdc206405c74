"""What requests and answers share."""
