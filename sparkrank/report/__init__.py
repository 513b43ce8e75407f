"""Reports: results and metric definitions in forms for people."""
