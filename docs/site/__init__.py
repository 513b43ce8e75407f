"""How Sphinx makes a site of the pages in docs/ (``make docs``). It stands beside them and is not installed."""
