"""The values that users hold: what a run, a merge, a backfill and a plan give back."""
