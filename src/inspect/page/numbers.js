// SPDX-License-Identifier: MIT
// Arithmetic of histograms, and numbers as texts. This file uses neither document nor clock, so node can test it.
//
// Histograms arrive as totals since the component was created: {one_in, instant, count, largest_ns, buckets:
// [[highest_ns, count], ...]}, with 8 buckets per octave and without empty ones. The difference of two totals is what
// happened between two polls, a spread: {none, buckets: [[highest_ns, weight], ...], largest_ns}. `none` counts events
// that took no time. A bucket's weight is the number of events it stands for: in a sample of 1 in 64 each counts as 64.

// ---- Spreads --------------------------------------------------------------------

// Returns the lowest value of the bucket whose highest is `highest`.
export function lowestOf(highest) {
    if (highest < 16) return highest;
    return highest + 1 - 2 ** (Math.floor(Math.log2(highest)) - 3);
}

// Returns a value that represents the bucket.
export function middleOf(highest) {
    return Math.round((lowestOf(highest) + highest) / 2);
}

export function totalsOf(histograms) {
    const weight = histograms.one_in || 1;
    return {
        none: histograms.instant || 0,
        buckets: histograms.buckets.map(([highest, count]) => [highest, count * weight]),
        largest_ns: histograms.largest_ns,
    };
}

// Returns what was added between two totals. If a count has fallen, the number belongs to a new component, and all of
// it is new.
export function spreadBetween(before, now) {
    if (!before) return { none: 0, buckets: [], largest_ns: 0 };
    const counts = new Map(before.buckets);
    const fell =
        now.none < before.none ||
        now.buckets.length < before.buckets.length ||
        now.buckets.some(([highest, weight]) => weight < (counts.get(highest) ?? 0));
    if (fell) return now;
    const buckets = [];
    for (const [highest, weight] of now.buckets) {
        const more = weight - (counts.get(highest) ?? 0);
        if (more > 0) buckets.push([highest, more]);
    }
    return { none: now.none - before.none, buckets, largest_ns: now.largest_ns };
}

export function merged(spreads) {
    const sums = new Map();
    let none = 0;
    let largest_ns = 0;
    for (const spread of spreads) {
        none += spread.none;
        largest_ns = Math.max(largest_ns, spread.largest_ns);
        for (const [highest, weight] of spread.buckets) sums.set(highest, (sums.get(highest) ?? 0) + weight);
    }
    return { none, buckets: [...sums].sort((a, b) => a[0] - b[0]), largest_ns };
}

export function weightOf(spread) {
    return spread.buckets.reduce((sum, [, weight]) => sum + weight, spread.none);
}

// Returns a value that a share (0 to 1) of the events do not exceed, exact to a bucket; null without events.
export function percentile(spread, share) {
    const all = weightOf(spread);
    if (all === 0) return null;
    const rank = Math.max(1, Math.ceil(share * all - 1e-9));
    let seen = spread.none;
    if (seen >= rank) return 0;
    for (const [highest, weight] of spread.buckets) {
        seen += weight;
        if (seen >= rank) return Math.min(middleOf(highest), spread.largest_ns || Infinity);
    }
    return longestOf(spread);
}

// Returns the longest duration, exact to a bucket, and never longer than the longest ever.
export function longestOf(spread) {
    if (weightOf(spread) === 0) return null;
    if (spread.buckets.length === 0) return 0;
    const highest = spread.buckets[spread.buckets.length - 1][0];
    return spread.largest_ns ? Math.min(highest, spread.largest_ns) : highest;
}

// ---- Texts -----------------------------------------------------------------------

// Three significant digits: 1.23, 12.3, 123.
function threeDigits(value) {
    if (value >= 99.95) return String(Math.round(value));
    return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

// Removes trailing zeros: 1.00 becomes 1.
function trimmed(text) {
    return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

export function timeText(ns) {
    if (ns === null || ns === undefined || !Number.isFinite(ns)) return '–';
    if (ns < 0) return `−${timeText(-ns)}`;
    if (ns === 0) return '0';
    if (ns < 1e3) return `${Math.round(ns)} ns`;
    if (ns < 999.5e3) return `${threeDigits(ns / 1e3)} µs`;
    if (ns < 999.5e6) return `${threeDigits(ns / 1e6)} ms`;
    if (ns < 120e9) return `${threeDigits(ns / 1e9)} s`;
    const seconds = Math.round(ns / 1e9);
    if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    const minutes = Math.floor(seconds / 60);
    if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

// A time for an axis: 1 ms, not 1.00 ms.
export function tickText(ns) {
    if (ns === 0) return '0';
    const [value, unit] = timeText(ns).split(' ');
    return `${trimmed(value)} ${unit}`;
}

export function countText(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return '–';
    const size = Math.abs(value);
    if (size < 1e4) return Number.isInteger(value) ? String(value) : trimmed(threeDigits(value));
    for (const [unit, name] of [
        [1e15, 'P'],
        [1e12, 'T'],
        [1e9, 'G'],
        [1e6, 'M'],
        [1e3, 'k'],
    ]) {
        if (size >= unit * 0.9995) return `${value < 0 ? '−' : ''}${threeDigits(size / unit)} ${name}`;
    }
    return String(value);
}

export function rateText(perSecond) {
    if (perSecond === null || perSecond === undefined) return '–';
    if (perSecond > 0 && perSecond < 0.1) return '< 0.1/s';
    return perSecond < 10
        ? `${trimmed(perSecond.toFixed(1))}/s`
        : `${countText(perSecond < 1e4 ? Math.round(perSecond) : perSecond)}/s`;
}

// A metric or a field of a description as text. A name that ends in _ns is a time.
export function valueText(name, value) {
    if (value === null || value === undefined) return '–';
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    if (typeof value !== 'number') return String(value);
    if (!name.endsWith('_ns')) return value < 0 && isLimit(name) ? 'off' : countText(value);
    return value < 0 ? 'off' : timeText(value);
}

function isLimit(name) {
    return /^(max|min)_|_most$|_least$|_failures$/.test(name);
}

// "open_failed" becomes "open failed".
export function wordsOf(name) {
    return name.replace(/_ns$/, '').replaceAll('_', ' ');
}

export function clockText(ns) {
    const date = new Date(ns / 1e6);
    const two = (number) => String(number).padStart(2, '0');
    const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
    return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

// ---- Axes --------------------------------------------------------------------------

// Returns the range of whole decades around these values, of which some may be 0 or null.
export function logRange(values) {
    let low = Infinity;
    let high = 0;
    for (const value of values) {
        if (value === null || value === undefined || value <= 0) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
    }
    if (high === 0) return [1e3, 1e6];
    const bottom = 10 ** Math.floor(Math.log10(low));
    const top = 10 ** Math.ceil(Math.log10(high * 1.05));
    return top / bottom < 10 ? [bottom, bottom * 10] : [bottom, top];
}

// Returns at most `most` ticks at whole decades.
export function logTicks(low, high, most) {
    const decades = Math.round(Math.log10(high / low));
    const step = Math.max(1, Math.ceil(decades / Math.max(1, most - 1)));
    const ticks = [];
    for (let decade = 0; decade <= decades; decade += step) ticks.push(low * 10 ** decade);
    return ticks;
}

// Returns about `most` whole numbers from 0 to at least `top`.
export function wholeTicks(top, most) {
    const rough = Math.max(1, top) / Math.max(1, most - 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(
        1,
        [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough - 1e-9),
    );
    const ticks = [];
    for (let tick = 0; ticks.length === 0 || ticks[ticks.length - 1] < Math.max(1, top); tick += step) ticks.push(tick);
    return ticks;
}

// Returns a bucket's row in a map with `perOctave` rows per octave. The row of 1 ns is 0.
export function rowOf(highest, perOctave) {
    return Math.max(0, Math.floor(Math.log2(middleOf(highest)) * perOctave + 1e-9));
}

export function rowBounds(row, perOctave) {
    return [2 ** (row / perOctave), 2 ** ((row + 1) / perOctave)];
}

const GAP_NS = 4e9; // after a longer pause, data is shown where it arrived

// Turns the samples [{at_ns, spread}] of the last `span_ns` into cells: rows from the shortest to the longest duration,
// the first one for events that took no time. Each is {low, high, counts} with a count per column. `none` is the
// largest count of the first row, `most` of all others. A sample covers the time since the one before, and is shared
// among the columns between.
export function cellsOf(samples, now_ns, span_ns, columns) {
    const { perOctave, first, rows } = rowsFor(samples, columns);
    const columnAt = (at_ns) => columns - 1 - Math.floor(((now_ns - at_ns) / span_ns) * columns);
    let before = null;
    for (const { at_ns, spread } of samples) {
        const last = columnAt(at_ns);
        const near = before !== null && at_ns - before <= GAP_NS;
        const from = near ? Math.min(last, columnAt(before) + 1) : last;
        before = at_ns;
        if (!spread) continue;
        const add = (row, weight) => {
            for (let column = Math.max(0, from); column <= last; column++) row.counts[column] += weight / (last - from + 1);
        };
        if (spread.none > 0) add(rows[0], spread.none);
        for (const [highest, weight] of spread.buckets) {
            add(rows[Math.max(1, Math.min(rows.length - 1, rowOf(highest, perOctave) - first + 1))], weight);
        }
    }
    // Events that took no time are usually far more numerous, and would leave no colours for the others.
    const largest = (some) => Math.max(0, ...some.map(({ counts }) => Math.max(...counts)));
    return { rows, columns, most: largest(rows.slice(1)), none: largest(rows.slice(0, 1)) };
}

// Chooses the rows per octave by the range of the values.
function rowsFor(samples, columns) {
    let [low, high] = [Infinity, -Infinity];
    for (const { spread } of samples) {
        for (const [highest] of spread?.buckets ?? []) {
            low = Math.min(low, Math.log2(highest));
            high = Math.max(high, Math.log2(highest));
        }
    }
    const rows = [{ low: 0, high: 0, counts: new Float64Array(columns) }];
    if (low === Infinity) return { perOctave: 1, first: 0, rows };
    const perOctave = high - low < 6 ? 4 : high - low < 12 ? 2 : 1;
    const first = Math.max(0, Math.floor(low - 1)) * perOctave;
    for (let row = first; row <= Math.ceil(high + 0.5) * perOctave; row++) {
        const [from, to] = rowBounds(row, perOctave);
        rows.push({ low: from, high: to, counts: new Float64Array(columns) });
    }
    return { perOctave, first, rows };
}
