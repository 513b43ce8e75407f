"""Report sections.

Each module makes a section from the tables, draws its charts, and contains advice for the case without data.
"""
