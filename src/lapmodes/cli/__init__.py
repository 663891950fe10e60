"""The command line, one command a file: ``lapmodes --help``."""
