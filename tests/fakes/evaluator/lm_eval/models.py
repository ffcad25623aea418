"""Nothing registers itself here."""
