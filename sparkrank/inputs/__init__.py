"""The user's description of the input: the roles of its columns, its day, and the hash of the request."""
