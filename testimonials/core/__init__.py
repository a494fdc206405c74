"""The foundation of all features, which depends on none of them."""
