"""Standard errors, intervals and differences of metrics, computed only from merged states (partial results)."""
