# SPDX-License-Identifier: MIT
"""The ratio of two contestants by pairs of runs that were next to each other."""
import math
import statistics

STUDENT = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}  # 95 %, by number of pairs


def interval(ours, theirs):
    """Middle, and the ends of its 95 % interval."""
    logs = [math.log(a / b) for a, b in zip(ours, theirs)]
    middle, half = statistics.mean(logs), float("inf")
    if len(logs) in STUDENT:
        half = STUDENT[len(logs)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(math.exp(x) for x in (middle, middle - half, middle + half))


def ratio_words(ratio):
    return "%.3fx (%.3f to %.3f)" % ratio
