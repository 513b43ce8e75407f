"""How a day becomes visible: either all of its tables at once, or none."""
