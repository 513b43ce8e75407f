"""The sections of a report, one module each: how it is built from the tables, its charts, and what to request."""
