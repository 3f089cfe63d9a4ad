"""Slow oracles: the papers' equations in plain loops, with nothing of Quorate's own in them.

Everywhere ``votes[task]`` lists that task's labels as pairs (worker, label), ``gold`` maps a task
to its known answer, and probabilities are multiplied as they stand in the papers.
"""
