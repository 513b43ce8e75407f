"""Two runs, or two models of a run, compared: their groups in pairs, who moved most, and by which slice values."""
