"""The explorer: look at a clustering, turn its knobs and mend it, in the browser."""
