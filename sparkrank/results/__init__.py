"""The objects that users receive: evaluations, explanations and the results of jobs."""
