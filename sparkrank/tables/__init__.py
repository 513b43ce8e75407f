"""The tables of a day: their schemas, how results become rows, how the input is read and a day is written."""
