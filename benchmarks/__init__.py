"""How fast sparkrank is, beside other ways to get the same numbers. See README.md in this folder."""
