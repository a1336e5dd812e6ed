// SPDX-License-Identifier: MIT
// The last five minutes of every component: one sample per poll, and before that the samples that the process recorded.
// Pure functions, like numbers.js.
//
// A sample is {at_ns, metrics, spreads: {wait: spread, ...}, marks: {wait: {p50, p90, p99, longest}, ...}}. Marks cover
// the five seconds before the sample, so that a component with few measured values still has a line.

import { totalsOf, spreadBetween, merged, percentile, longestOf, weightOf } from './numbers.js';

export const KEPT_NS = 300e9;
const MARKED_NS = 5e9;
const REMEMBERED_NS = 2.5e9; // the interval of the process's own samples
const MARKS = ['p50', 'p90', 'p99', 'longest'];

// Converts a sample of the process, [at_ns, metrics..., marks of each timing...], into one of the page's. It has no
// spreads, so heat maps begin when the page was opened.
function rememberedOf([at_ns, ...values], { metrics, timings }) {
    const sample = { at_ns, metrics: {}, spreads: {}, marks: {} };
    for (const name of metrics) sample.metrics[name] = values.shift();
    for (const name of timings) sample.marks[name] = Object.fromEntries(MARKS.map((mark) => [mark, values.shift() ?? null]));
    return sample;
}

function marksOf(spread) {
    return {
        p50: percentile(spread, 0.5),
        p90: percentile(spread, 0.9),
        p99: percentile(spread, 0.99),
        longest: longestOf(spread),
    };
}

class Record {
    constructor() {
        this.samples = [];
        this.totals = {};
    }

    add(at_ns, component) {
        const sample = { at_ns, metrics: component.metrics, spreads: {}, marks: {} };
        for (const [name, histograms] of Object.entries(component.histograms ?? {})) {
            const totals = totalsOf(histograms);
            sample.spreads[name] = spreadBetween(this.totals[name], totals);
            this.totals[name] = totals;
        }
        this.samples.push(sample);
        while (this.samples[0].at_ns < at_ns - KEPT_NS) this.samples.shift();
        for (const name of Object.keys(sample.spreads)) sample.marks[name] = marksOf(this.spread(name, MARKED_NS));
    }

    // Adds samples that the process recorded while this page did not poll.
    remember(samples) {
        const near = (one) => this.samples.some(({ at_ns }) => Math.abs(at_ns - one.at_ns) < REMEMBERED_NS);
        this.samples.push(...samples.filter((one) => !near(one)));
        this.samples.sort((a, b) => a.at_ns - b.at_ns);
    }

    // Returns the samples of the last `ns` nanoseconds. A sample describes the time before it.
    recent(ns) {
        const last = this.samples[this.samples.length - 1];
        return last ? this.samples.filter((sample) => sample.at_ns > last.at_ns - ns) : [];
    }

    spread(name, ns) {
        return merged(
            this.recent(ns)
                .map((sample) => sample.spreads[name])
                .filter(Boolean),
        );
    }

    // Returns a counter's rate over the last `ns` nanoseconds; null with fewer than two samples of it.
    rate(name, ns) {
        const all = this.recent(ns + 1e9).filter((sample) => sample.metrics[name] !== undefined);
        const [first, last] = [all[0], all[all.length - 1]];
        if (!first || last.at_ns <= first.at_ns) return null;
        return Math.max(0, ((last.metrics[name] - first.metrics[name]) * 1e9) / (last.at_ns - first.at_ns));
    }

    // Returns the number of histogram entries per second, for components without a counter for them.
    rateOf(name, ns) {
        const all = this.recent(ns);
        if (all.length < 2) return null;
        const spread = merged(
            all
                .slice(1)
                .map((sample) => sample.spreads[name])
                .filter(Boolean),
        );
        return (weightOf(spread) * 1e9) / (all[all.length - 1].at_ns - all[0].at_ns);
    }
}

export class History {
    constructor() {
        this.records = new Map();
        this.at_ns = 0;
    }

    // A poll with an earlier time than the last one means that the clock was set back: the records start again.
    add(at_ns, components) {
        if (at_ns <= this.at_ns) this.records.clear();
        this.at_ns = at_ns;
        for (const component of components) {
            if (!this.records.has(component.number)) this.records.set(component.number, new Record());
            this.records.get(component.number).add(at_ns, component);
        }
        for (const [number, record] of this.records) {
            if (record.samples[record.samples.length - 1].at_ns < at_ns - KEPT_NS) this.records.delete(number);
        }
    }

    // Adds the response of /api/history. To be called before the poll of `at_ns`, which it belongs to, is added.
    remember({ components }, at_ns) {
        for (const component of components) {
            if (!this.records.has(component.number)) this.records.set(component.number, new Record());
            this.records.get(component.number).remember(
                component.samples.map((sample) => rememberedOf(sample, component)).filter((sample) => sample.at_ns < at_ns),
            );
        }
    }

    of(number) {
        return this.records.get(number) ?? new Record();
    }
}
