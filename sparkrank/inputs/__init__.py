"""The input as a user describes it: the roles of its columns, the day it belongs to, and the hash of the spec."""
