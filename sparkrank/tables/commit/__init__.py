"""How a day becomes visible: all of its tables at once, or none."""
