"""The tables of the output as data: their columns, types and meaning."""
