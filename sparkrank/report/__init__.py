"""Reports, which show results and metric definitions in forms that people read."""
