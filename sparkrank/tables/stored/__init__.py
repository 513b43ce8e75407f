"""Reading the stored tables of days and windows."""
