"""Attacks on the library that anyone can run again: ``python -m fuzz --minutes 5``.

Each target is one file that draws random cases, most of them hostile, and says what must hold for each. To add one,
write such a file and name it in `targets.py`.
"""
