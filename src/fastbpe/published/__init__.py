"""Published vocabularies: found on this machine by name, or downloaded."""
