"""The sections of a report, a module each: how it is made of the tables, its charts, and what to ask for."""
