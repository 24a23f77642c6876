"""A local web page for looking at tokens: a server on the loopback interface, and the page that it serves."""
