"""Mails about new testimonials: who gets them, and how often."""
