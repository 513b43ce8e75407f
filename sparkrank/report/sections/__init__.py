"""Report sections. Each module builds a section from the tables, draws its charts and advises what to request."""
