"""How text is cut into pieces: Unicode character sets, the parser of split patterns, and what runs them."""
