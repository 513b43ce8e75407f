"""What an input is: the roles of its columns, the day that it belongs to, and the hash of what is asked of it."""
