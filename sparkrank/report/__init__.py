"""Reports: results and metric definitions in forms that people read."""
