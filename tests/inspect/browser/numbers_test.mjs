// SPDX-License-Identifier: MIT
// The page's arithmetic, by node --test. CENOTE_PAGE is the folder with a copy of the page's modules.
import assert from 'node:assert/strict';
import test from 'node:test';
import { pathToFileURL } from 'node:url';

const folder = pathToFileURL(`${process.env.CENOTE_PAGE}/`);
const load = (name) => import(new URL(name, folder));
const numbers = await load('numbers.js');
const { History } = await load('history.js');
const { isSame } = await load('link.js');
const { concernsOf, sentenceOf } = await load('concerns.js');

// A bucket as the process makes them: 8 to an octave, by its highest value.
function highestOf(value) {
    if (value < 16) return value;
    const width = 2 ** (Math.floor(Math.log2(value)) - 3);
    return (Math.floor(value / width) + 1) * width - 1;
}

function histogramOf(values, { one_in = 1, instant = 0 } = {}) {
    const counts = new Map();
    for (const value of values) counts.set(highestOf(value), (counts.get(highestOf(value)) ?? 0) + 1);
    return {
        one_in,
        instant,
        count: values.length,
        sum_ns: 0,
        smallest_ns: Math.min(...values),
        largest_ns: Math.max(...values),
        buckets: [...counts].sort((a, b) => a[0] - b[0]),
    };
}

const spreadOf = (values, options) => numbers.totalsOf(histogramOf(values, options));

// The same numbers every time: a small generator with a seed.
function randoms(seed) {
    let state = seed;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

test('a bucket is as wide as an eighth of its octave, and numbers below 16 have one each', () => {
    for (let value = 0; value < 16; value++) assert.equal(numbers.lowestOf(highestOf(value)), value);
    for (const value of [16, 17, 31, 32, 100, 1000, 12345, 1e6, 1e9 + 7, 2 ** 40, 2 ** 52]) {
        const highest = highestOf(value);
        const lowest = numbers.lowestOf(highest);
        assert.ok(lowest <= value && value <= highest, `${lowest} <= ${value} <= ${highest}`);
        assert.equal(highestOf(lowest), highest);
        assert.notEqual(highestOf(lowest - 1), highest);
        assert.notEqual(highestOf(highest + 1), highest);
    }
});

test('a percentile is wrong by at most a sixteenth of itself', () => {
    const random = randoms(1);
    const values = Array.from({ length: 5000 }, () => Math.round(10 ** (2 + 7 * random()))).sort((a, b) => a - b);
    const spread = spreadOf(values);
    for (const share of [0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1]) {
        const exact = values[Math.ceil(share * values.length) - 1];
        assert.ok(
            Math.abs(numbers.percentile(spread, share) - exact) <= exact / 16 + 1,
            `${share}: ${numbers.percentile(spread, share)}, ${exact}`,
        );
    }
    assert.equal(numbers.longestOf(spread), values[values.length - 1]);
});

test('those that took no time count as 0, once each, and those of a sample for all that they stand for', () => {
    const spread = spreadOf([1000, 1000], { one_in: 64, instant: 128 });
    assert.equal(numbers.weightOf(spread), 256);
    assert.equal(numbers.percentile(spread, 0.5), 0);
    assert.ok(numbers.percentile(spread, 0.51) > 900);
});

test('of nothing there is no percentile and no longest', () => {
    const nothing = numbers.merged([]);
    assert.equal(numbers.percentile(nothing, 0.5), null);
    assert.equal(numbers.longestOf(nothing), null);
    assert.equal(numbers.longestOf({ none: 3, buckets: [], largest_ns: 0 }), 0);
});

test('what came between two totals is their difference', () => {
    const before = spreadOf([100, 200, 200], { instant: 5 });
    const now = spreadOf([100, 200, 200, 200, 9000], { instant: 7 });
    const between = numbers.spreadBetween(before, now);
    assert.equal(numbers.weightOf(between), 4);
    assert.deepEqual(between.buckets, [
        [highestOf(200), 1],
        [highestOf(9000), 1],
    ]);
    assert.equal(numbers.weightOf(numbers.spreadBetween(now, now)), 0);
    assert.equal(numbers.weightOf(numbers.spreadBetween(undefined, now)), 0);
});

test('totals that fell are of another component, and all of them are new', () => {
    const before = spreadOf([100, 100, 100], { instant: 5 });
    assert.equal(numbers.weightOf(numbers.spreadBetween(before, spreadOf([100], { instant: 9 }))), 10);
    assert.equal(numbers.weightOf(numbers.spreadBetween(before, spreadOf([100, 100, 100], { instant: 1 }))), 4);
});

test('merged differences are the difference of the whole', () => {
    const random = randoms(2);
    const values = Array.from({ length: 900 }, () => Math.round(1e9 * random()));
    const totals = [0, 300, 600, 900].map((count) => spreadOf([5, ...values.slice(0, count)]));
    const parts = totals.slice(1).map((now, index) => numbers.spreadBetween(totals[index], now));
    assert.deepEqual(numbers.merged(parts).buckets, numbers.spreadBetween(totals[0], totals[3]).buckets);
});

test('times have three digits and the unit that suits them', () => {
    const texts = [
        [null, '–'],
        [0, '0'],
        [7, '7 ns'],
        [999, '999 ns'],
        [1000, '1.00 µs'],
        [12345, '12.3 µs'],
        [999499, '999 µs'],
        [999500, '1.00 ms'],
        [2.5e8, '250 ms'],
        [1.5e9, '1.50 s'],
        [119e9, '119 s'],
        [120e9, '2 min 0 s'],
        [3725e9, '62 min 5 s'],
        [7200e9, '2 h 0 min'],
        [2 * 86400e9, '2 d 0 h'],
    ];
    for (const [ns, text] of texts) assert.equal(numbers.timeText(ns), text);
    assert.equal(numbers.tickText(1e6), '1 ms');
});

test('counts and rates are short', () => {
    const texts = [
        [0, '0'],
        [9999, '9999'],
        [10000, '10.0 k'],
        [1234567, '1.23 M'],
        [0.5, '0.5'],
        [null, '–'],
        [9.99e9, '9.99 G'],
    ];
    for (const [count, text] of texts) assert.equal(numbers.countText(count), text);
    for (const [rate, text] of [
        [0, '0/s'],
        [0.01, '< 0.1/s'],
        [1.25, '1.3/s'],
        [512.4, '512/s'],
        [45678, '45.7 k/s'],
        [null, '–'],
    ]) {
        assert.equal(numbers.rateText(rate), text);
    }
});

test('a value is shown by its name: times, limits that are off, truths', () => {
    assert.equal(numbers.valueText('idle_timeout_ns', 600e9), '10 min 0 s');
    assert.equal(numbers.valueText('leak_after_ns', -1), 'off');
    assert.equal(numbers.valueText('max_idle', -1), 'off');
    assert.equal(numbers.valueText('delta', -1), '-1');
    assert.equal(numbers.valueText('backtraces', true), 'yes');
    assert.equal(numbers.valueText('last_error', null), '–');
});

test('an axis has whole decades, or whole numbers from 0', () => {
    assert.deepEqual(numbers.logRange([0, null, 2e6, 5e7]), [1e6, 1e8]);
    assert.deepEqual(numbers.logRange([1e6]), [1e6, 1e7]);
    assert.deepEqual(numbers.logRange([0]), [1e3, 1e6]);
    assert.deepEqual(numbers.logTicks(1e3, 1e9, 4), [1e3, 1e5, 1e7, 1e9]);
    assert.deepEqual(numbers.wholeTicks(10, 5), [0, 5, 10]);
    assert.deepEqual(numbers.wholeTicks(1, 5), [0, 1]);
    for (let top = 0; top < 300; top++) {
        const ticks = numbers.wholeTicks(top, 6);
        assert.ok(ticks[ticks.length - 1] >= top && ticks.length >= 2 && ticks.length <= 7, `${top}: ${ticks}`);
    }
});

test('every bucket is in the row of a map that its bounds say', () => {
    for (const perOctave of [1, 2, 4]) {
        for (const value of [1, 5, 16, 1000, 1e6, 123456789]) {
            const [low, high] = numbers.rowBounds(numbers.rowOf(highestOf(value), perOctave), perOctave);
            const middle = numbers.middleOf(highestOf(value));
            assert.ok(low <= middle * (1 + 1e-9) && middle < high, `${low} <= ${middle} < ${high}`);
        }
    }
});

test('every sample is in the cells once, in the columns since the one before', () => {
    const random = randoms(3);
    const samples = [];
    let weight = 0;
    for (let second = 1; second <= 60; second += 1 + (second % 7 === 0 ? 1 : 0)) {
        const spread = spreadOf(
            Array.from({ length: 20 }, () => Math.round(10 ** (4 + 4 * random()))),
            { instant: 3 },
        );
        weight += numbers.weightOf(spread);
        samples.push({ at_ns: second * 1e9, spread });
    }
    const { rows, most, columns } = numbers.cellsOf(samples, 60e9, 60e9, 60);
    const sum = rows.reduce((all, { counts }) => all + counts.reduce((some, count) => some + count, 0), 0);
    assert.ok(Math.abs(sum - weight) < 1e-6, `${sum}, ${weight}`);
    assert.equal(columns, 60);
    assert.ok(most > 0 && most <= 20);
    for (let column = 0; column < columns; column++) {
        assert.ok(
            rows.some(({ counts }) => counts[column] > 0),
            `column ${column} is not empty`,
        );
    }
    for (let row = 2; row < rows.length; row++) assert.ok(Math.abs(rows[row].low / rows[row - 1].high - 1) < 1e-9);
});

test('where nobody ever waited the map has one row, and a pause leaves its columns empty', () => {
    const none = { none: 8, buckets: [], largest_ns: 0 };
    const samples = [1, 2, 30].map((second) => ({ at_ns: second * 1e9, spread: none }));
    const { rows, most, none: pale } = numbers.cellsOf(samples, 30e9, 60e9, 60);
    assert.equal(rows.length, 1);
    assert.deepEqual([most, pale], [0, 8], 'nothing that deserves a colour');
    assert.deepEqual(
        [...rows[0].counts].filter((count) => count > 0),
        [8, 8, 8],
    );
    assert.equal(rows[0].counts[59], 8);
});

const componentAt = (taken, values, more = {}) => ({
    number: 3,
    kind: 'pool',
    metrics: { taken, ...more },
    histograms: { wait: histogramOf(values) },
});

test('what the process kept comes before the first look, and only where the page has seen nothing', () => {
    const history = new History();
    const samples = [1, 2, 3, 4].map((at) => [at * 2.5e9, at, at * 10, 5, 6, 7, at === 2 ? null : 8]);
    const past = { components: [{ number: 3, metrics: ['held', 'taken'], timings: ['wait'], samples }] };
    history.remember(past, 9e9);
    history.add(9e9, [componentAt(36, [])]);
    const { samples: kept } = history.of(3);
    assert.deepEqual(
        kept.map(({ at_ns }) => at_ns),
        [2.5e9, 5e9, 7.5e9, 9e9],
        'what came after the look is not remembered',
    );
    assert.deepEqual([kept[1].metrics.held, kept[1].metrics.taken], [2, 20]);
    assert.deepEqual(kept[1].marks.wait, { p50: 5, p90: 6, p99: 7, longest: null });
    assert.equal(history.of(3).rate('taken', 10e9), ((36 - 10) * 1e9) / 6.5e9);
    history.remember(past, 9e9);
    assert.equal(history.of(3).samples.length, 4, 'nothing is there twice');
});

test('history keeps five minutes, rates of counters, and marks of the last five seconds', () => {
    const history = new History();
    for (let second = 0; second <= 400; second++) {
        const values = Array.from({ length: second + 1 }, (_, index) => (index < 390 ? 1e6 : 64e6));
        history.add(second * 1e9 + 1, [componentAt(second * 50, values)]);
    }
    const record = history.of(3);
    assert.equal(record.samples.length, 301);
    assert.equal(record.rate('taken', 10e9), 50);
    assert.equal(record.rate('absent', 10e9), null);
    assert.equal(Math.round(record.rateOf('wait', 10e9)), 1);
    const last = record.samples[record.samples.length - 1];
    assert.ok(last.marks.wait.p50 > 60e6, 'the last five are long ones');
    const middle = record.samples[100];
    assert.ok(middle.marks.wait.p50 < 1.1e6 && middle.marks.wait.longest < 1.1e6);
});

test('a component that is gone is forgotten after five minutes, and a clock that is set back begins anew', () => {
    const history = new History();
    history.add(1e9, [componentAt(1, [5])]);
    history.add(2e9, []);
    assert.equal(history.of(3).samples.length, 1);
    history.add(302e9, []);
    assert.equal(history.of(3).samples.length, 0);
    history.add(303e9, [componentAt(1, [5])]);
    history.add(200e9, [componentAt(2, [5])]);
    assert.equal(history.of(3).samples.length, 1);
});

test('a pool is said to be exhausted only if takes wait and all objects are in use', () => {
    const pool = (metrics, description) => ({
        number: 1,
        kind: 'pool',
        name: 'p',
        metrics: { max: 4, held: 0, waiting: 0, ...metrics },
        description,
    });
    const texts = (component) => concernsOf(component).map(({ text }) => text);
    assert.deepEqual(texts(pool({ held: 4 })), []);
    assert.deepEqual(texts(pool({ held: 4, waiting: 2 })), ['exhausted']);
    assert.deepEqual(texts(pool({ held: 3, idle: 1, waiting: 2 })), ['exhausted'], 'the one that is idle is on its way');
    assert.equal(sentenceOf(pool({ held: 4, waiting: 1 })), 'all objects (limit 4) are in use, and 1 take waits');
    assert.equal(sentenceOf(pool({ held: 3, idle: 1, waiting: 2 })), 'all objects (limit 4) are in use or about to be, and 2 takes wait');
    assert.deepEqual(texts(pool({ held: 2, idle: 2, waiting: 2 })), [], 'there is one for each');
    assert.deepEqual(texts(pool({ held: 2, idle: 1, waiting: 5 })), [], 'there may be one more');
    assert.deepEqual(texts(pool({ held: 1, idle: 3, waiting: 9, paused: 1 })), ['paused']);
    assert.deepEqual(texts(pool({ held: 1, waiting: 2, paused: 1 })), ['paused']);
    assert.deepEqual(texts(pool({ breaker: 1 })), ['breaker open']);
    const holders = [{ held_ns: 1e6 }, { held_ns: 2e9, where: 'b.c:2 g' }, { held_ns: 5e9, where: 'a.c:1 f' }];
    const leaky = pool({ held: 3 }, { leak_after_ns: 1e9, holders });
    assert.deepEqual(texts(leaky), ['2 leaks']);
    assert.equal(sentenceOf(leaky), 'an object has been held for 5.00 s, taken at a.c:1 f');
});

test('what no number shows is said by the cause of a pool and never by its words', () => {
    const pool = (description) => ({ number: 1, kind: 'pool', name: 'p', metrics: { max: 4, held: 4 }, description });
    const texts = (component) => concernsOf(component).map(({ text }) => text);
    assert.deepEqual(texts(pool({ cause: 'leak' })), ['leak suspected']);
    assert.deepEqual(texts(pool({ cause: 'opening_failed' })), ['opens fail']);
    assert.deepEqual(texts(pool({ cause: 'exhausted', explanation: 'pool "p": Leak suspected: object 1' })), []);
    assert.deepEqual(texts(pool({ cause: 'of a later version' })), []);
    const holders = [{ held_ns: 2e9 }];
    assert.deepEqual(texts(pool({ cause: 'leak', leak_after_ns: 1e9, holders })), ['1 leak'], 'it is said once');
});

test('a process is the same if its number and its beginning are', () => {
    const one = { pid: 7, started_ns: 1.7e18 };
    assert.ok(isSame(one, { pid: 7, started_ns: 1.7e18 + 1e6 }));
    assert.ok(!isSame(one, { pid: 8, started_ns: 1.7e18 }));
    assert.ok(!isSame(one, { pid: 7, started_ns: 1.7e18 + 5e9 }));
});
