"""Standard errors, intervals and differences of metrics, from merged states alone."""
