"""The solver: it sees points, a graph and numbers, never where they came from."""
