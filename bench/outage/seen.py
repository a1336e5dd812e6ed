# SPDX-License-Identifier: MIT
"""What a contestant saw of an outage, from its answers and failures by 25 ms."""

BIN = 0.025
WINDOW = 10  # bins whose answers are a rate
BEFORE = 80  # bins before the outage that a chart shows
GRACE = 0.5  # seconds after the beginning in which answers may still have been under way


class Seen:
    """Of one run. Times are the contestant's own: seconds since it was ready."""

    def __init__(self, line, began, ended, after):
        words = dict(word.split("=") for word in line.split())
        count = sum(key[0] == "a" and key[1:].isdigit() for key in words)
        self.answered, self.failed = ([int(words["%s%d" % (letter, i)]) for i in range(count)] for letter in "af")
        self.longest_s, self.stuck = float(words["longest_ms"]) / 1000, int(words["stuck"])
        self.began, self.ended, self.after = began, ended, after
        if count * BIN < ended + after - BIN:
            raise RuntimeError("a contestant ended before it was over")

    def between(self, bins, begin, end):
        return sum(bins[max(0, round(begin / BIN)):round(end / BIN)])

    def usual(self):
        """Answers in a second before the outage."""
        return self.between(self.answered, self.began - 1.5, self.began) / 1.5

    def first(self):
        """Seconds after its end until the first answer; None if there was none."""
        start = int(self.ended / BIN)
        found = (i for i in range(start, int((self.ended + self.after) / BIN)) if self.answered[i] > 0)
        at = next(found, None)
        return None if at is None else max(0.0, (at + 1) * BIN - self.ended)

    def again(self):
        """The same until a quarter of a second began that had 80 % of the usual answers."""
        start, wanted = int(self.ended / BIN), 0.8 * self.usual() * WINDOW * BIN
        found = (i for i in range(start, int((self.ended + self.after) / BIN) - WINDOW + 1)
                 if sum(self.answered[i:i + WINDOW]) >= wanted)
        at = next(found, None)
        return None if at is None else max(self.first(), at * BIN - self.ended)

    def expect_an_outage(self):
        """Else it was none."""
        if self.usual() <= 0:
            raise RuntimeError("nothing was answered before the outage")
        if self.between(self.answered, self.began + GRACE, self.ended - BIN) > 0:
            raise RuntimeError("questions were answered in an outage")

    def fields(self):
        return {"usual_per_s": round(self.usual(), 1), "answered_during": self.between(self.answered, self.began, self.ended),
                "failed_during": self.between(self.failed, self.began, self.ended),
                "first_s": None if self.first() is None else round(self.first(), 3),
                "again_s": None if self.again() is None else round(self.again(), 3),
                "answered_after": self.between(self.answered, self.ended, self.ended + self.after),
                "failed_after": self.between(self.failed, self.ended, self.ended + self.after),
                "longest_s": round(self.longest_s, 3), "stuck": self.stuck, "dark_s": round(self.ended - self.began, 3),
                "after_s": round(self.after, 3), **self.timeline()}

    def timeline(self):
        """For a chart: from two seconds before the outage to the end, by quarters of a second."""
        begin = max(0, round(self.began / BIN) - BEFORE)
        end = begin + int((self.ended + self.after - begin * BIN) / (WINDOW * BIN)) * WINDOW
        sums = ([sum(bins[i:i + WINDOW]) for i in range(begin, end, WINDOW)] for bins in (self.answered, self.failed))
        return {**dict(zip(("answers", "failures"), sums)), "step_ms": round(1000 * WINDOW * BIN),
                "begin_ms": round(1000 * (self.began - begin * BIN)), "end_ms": round(1000 * (self.ended - begin * BIN))}


def line_of(answered, failed):
    return " ".join("a%d=%d f%d=%d" % (i, answered(i * BIN), i, failed(i * BIN)) for i in range(400)) + " longest_ms=2500 stuck=1"


def self_test():
    """A known outage from 3 to 6 s, answers again at 7, all of them at 8; and one that was none."""
    line = line_of(lambda t: 10 * (t < 2.99 or t > 7.99) or 2 * (t > 6.99), lambda t: 4 * (2.99 < t < 6.99))
    known = Seen(line, 3.0, 6.0, 3.9).fields()
    wanted = {"usual_per_s": 400.0, "answered_during": 0, "failed_during": 480, "first_s": 1.025, "failed_after": 160, "stuck": 1}
    wrong = {key: known[key] for key, value in wanted.items() if known[key] != value}
    if wrong or not 1.9 <= known["again_s"] <= 2.0:
        raise SystemExit("bench: the harness does not see an outage as it was: %s" % (wrong or known["again_s"]))
    for answered, sentence in ((lambda t: 10, "in an outage"), (lambda t: 0, "before the outage")):
        try:
            Seen(line_of(answered, lambda t: 0), 3.0, 6.0, 3.9).expect_an_outage()
        except RuntimeError as refusal:
            if sentence in str(refusal):
                continue
            raise
        raise SystemExit("bench: the harness did not notice an outage that was none")
