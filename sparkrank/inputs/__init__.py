"""The input as a user describes it, with the roles of its columns, its day, and the hash of the request."""
