"""Results and declarations as people read them."""
