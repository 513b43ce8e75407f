"""Standard errors, intervals and differences of metrics, computed from merged states (partial results) alone."""
