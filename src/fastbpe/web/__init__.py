"""A local page for people who look at tokens: a server on the loopback interface, and the page that it serves."""
