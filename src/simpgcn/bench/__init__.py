"""How fast it is: against plain implementations of the same, against the memory's own speed, and as graphs grow."""
