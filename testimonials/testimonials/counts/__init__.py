"""How many testimonials there are, kept by triggers so that nothing counts them again."""
