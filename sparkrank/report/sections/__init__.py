"""Report sections.

Each module makes a section from the tables, draws its charts and says what to request without data.
"""
