"""The input as a user describes it: the roles of its columns, its day, and the hash of the request."""
