"""How the public pages of a project look: their colours, pictures and the finished card."""
