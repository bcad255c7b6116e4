"""``aipm plugins check``: what a plugin must hold to, asked in a process of its own.

A plugin under test may hang, print, or end the process it runs in. So the questions
(:mod:`questions`, :mod:`life`) are asked in a child (:mod:`__main__`), which reports line by line,
and the command (:mod:`probe`) only reads that report.
"""
