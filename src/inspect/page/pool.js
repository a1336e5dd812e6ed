// SPDX-License-Identifier: MIT
// A pool: its card, and its own view with charts, holders, waiters, settings and events.

import { el, setText, setHidden, keyed, nameOf } from './dom.js';
import { countText, timeText, rateText, percentile, totalsOf, valueText } from './numbers.js';
import { concernsOf, breakerOf, leaksOf } from './concerns.js';
import { Cursor, LineChart, Spark } from './chart.js';
import { HeatMap } from './heat.js';
import { Controls } from './controls.js';
import { Table } from './table.js';
import { Bar, Figures, Tabs, hrefOf, updateBadges, updateFacts } from './parts.js';
import { Log } from './log.js';

const RECENT_NS = 10e9;

// ---- What a pool's numbers mean ----------------------------------------------------------

export function placesOf({ metrics: r }) {
    const other = (r.testing ?? 0) + (r.resetting ?? 0) + (r.closing ?? 0) + (r.revoked ?? 0);
    return [
        ['in use', r.held ?? 0, 'held'],
        ['idle', r.idle ?? 0, 'idle'],
        ['opening', r.opening ?? 0, 'opening'],
        ['other', other, 'other'],
    ];
}

// Takes per second: from the pool's counter if it has one, else from the count of its wait times.
export function takesOf(record) {
    return record.rate('taken', RECENT_NS) ?? record.rateOf('wait', RECENT_NS);
}

export function twoMarks(record, timing) {
    const spread = record.spread(timing, RECENT_NS);
    return [percentile(spread, 0.5), percentile(spread, 0.99)];
}

function summary(component) {
    return placesOf(component)
        .filter(([, count], index) => count > 0 || index === 0)
        .map(([name, count]) => `${count} ${name}`)
        .join(' · ');
}

// What identifies a held object: the name that its server gave it, or else its slot. The address in /api/components
// would tell the user nothing.
function objectText({ identity, index }) {
    return identity ?? `#${index}`;
}

// ---- Card ------------------------------------------------------------------------------------

const NAMED = 3; // holders on a card

// The oldest holders, one line each, for an overview with few pools.
class Oldest {
    constructor() {
        this.list = el('ol', { class: 'oldest', 'aria-label': 'Oldest holders' });
    }

    update(component, shown) {
        const holders = shown ? [...(component.description?.holders ?? [])].sort((a, b) => b.held_ns - a.held_ns).slice(0, NAMED) : [];
        const leaks = leaksOf(component);
        setHidden(this.list, holders.length === 0);
        keyed(
            this.list,
            holders,
            ({ index }) => index,
            () => {
                const [what, where, age] = [el('span', { class: 'what' }), el('span', { class: 'where' }), el('span', { class: 'age' })];
                return { element: el('li', {}, what, where, age), what, where, age };
            },
            ({ element, what, where, age }, holder) => {
                element.classList.toggle('leak', leaks.includes(holder));
                setText(what, `${objectText(holder)}, ${whoText(holder)}`);
                setText(where, holder.where ?? '');
                setText(age, ageText(holder));
            },
        );
    }
}

export class PoolCard {
    constructor(component) {
        this.badges = el('span', { class: 'badges' });
        this.bar = new Bar('Objects');
        this.places = el('span', {});
        this.limit = el('span', { class: 'limit' });
        this.figures = new Figures();
        this.oldest = new Oldest();
        this.spark = new Spark({
            label: 'In use and waiting, last five minutes',
            series: [
                { mark: 'held', filled: true, value: (sample) => sample.metrics.held ?? null },
                { mark: 'waiting', value: (sample) => sample.metrics.waiting ?? null },
            ],
        });
        const system = component.system ? el('span', { class: 'system', text: component.system }) : null;
        this.element = el(
            'article',
            { class: 'card' },
            el('h3', {}, el('a', { href: hrefOf(component) }, nameOf(component.name, component.number)), system, this.badges),
            this.bar.element,
            el('p', { class: 'places' }, this.places, this.limit),
            this.figures.element,
            this.oldest.list,
            this.spark.element,
        );
    }

    update(component, record, now_ns, few) {
        const concerns = concernsOf(component);
        const [waitHalf, waitMost] = twoMarks(record, 'wait');
        const [useHalf, useMost] = twoMarks(record, 'use');
        updateBadges(this.badges, concerns);
        this.element.dataset.level = concerns[0]?.level ?? 'fine';
        this.bar.update(placesOf(component), component.metrics.max ?? 0);
        setText(this.places, summary(component));
        setText(this.limit, `limit ${countText(component.metrics.max)}`);
        this.figures.update([
            ['waiting', countText(component.metrics.waiting ?? 0), component.metrics.waiting > 0 ? 'warning' : null],
            ['wait p50', timeText(waitHalf)],
            ['wait p99', timeText(waitMost)],
            ['takes', rateText(takesOf(record))],
            ['hold p50', timeText(useHalf)],
            ['hold p99', timeText(useMost)],
        ]);
        this.oldest.update(component, few);
        this.spark.show(record.samples, now_ns, component.metrics.max);
    }
}

// ---- Holders and waiters -------------------------------------------------------------------------

function ageText({ held_ns, exact }) {
    return `${exact === false ? '≥ ' : ''}${timeText(held_ns)}`;
}

function whoText(item) {
    const tid = item.tid ? `, tid ${item.tid}` : '';
    const name = item.thread_name ? ` (${item.thread_name}${tid})` : '';
    const words = ['detached', 'revoked'].filter((word) => item[word]);
    return [`${item.holder ?? '–'}${name}`, ...words].join(', ');
}

function makeTrace() {
    const list = el('ol', { class: 'trace' });
    const nothing = el('p', { class: 'note', text: 'No backtrace: the pool records backtraces only if its option backtraces is on.' });
    return {
        element: el('div', {}, el('h4', { text: 'Where it was taken' }), list, nothing),
        update(holder) {
            const lines = (holder.backtrace ?? []).map((frame) => frame.at ?? String(frame));
            if (list.dataset.lines !== lines.join('\n')) {
                list.dataset.lines = lines.join('\n');
                list.replaceChildren(...lines.map((line) => el('li', {}, el('code', { text: line }))));
            }
            setHidden(list, lines.length === 0);
            setHidden(nothing, lines.length > 0);
        },
    };
}

function holdersTable(leaky) {
    return new Table({
        title: 'Holders',
        empty: 'no objects are held',
        sort: { column: 3, down: true },
        key: (holder) => `${holder.index} ${holder.object} ${holder.holder}`,
        details: { make: makeTrace },
        columns: [
            { label: 'object', value: (holder) => holder.index, text: objectText },
            { label: 'holder', text: whoText },
            { label: 'taken at', text: (holder) => holder.where ?? '–' },
            {
                label: 'held for',
                number: true,
                value: (holder) => holder.held_ns,
                fill(cell, holder) {
                    setText(cell, ageText(holder));
                    cell.classList.toggle('leak', leaky(holder));
                },
            },
        ],
    });
}

function waitersTable() {
    return new Table({
        title: 'Waiters',
        empty: 'no waiters',
        key: (waiter) => waiter.place,
        columns: [
            { label: 'position', number: true, value: (waiter) => waiter.place, text: (waiter) => String(waiter.place) },
            { label: 'holder', text: whoText },
            { label: 'waiting at', text: (waiter) => waiter.where ?? '–' },
            { label: 'kind', text: (waiter) => waiter.kind ?? '–' },
            { label: 'priority', text: (waiter) => String(waiter.priority ?? '–') },
            { label: 'waited', number: true, value: (waiter) => waiter.waited_ns, text: (waiter) => timeText(waiter.waited_ns) },
            {
                label: 'deadline in',
                number: true,
                value: (waiter) => waiter.deadline_in_ns ?? Infinity,
                text: (waiter) => (waiter.deadline_in_ns === undefined ? 'never' : timeText(Math.max(0, waiter.deadline_in_ns))),
            },
        ],
    });
}

// ---- Charts -----------------------------------------------------------------------------------------

const MARKS = [
    ['p50', 'p50'],
    ['p90', 'p90'],
    ['p99', 'p99'],
    ['longest', 'max'],
];

export function timesChart(title, timing, cursor) {
    return new LineChart({
        title,
        cursor,
        log: true,
        note: 'over the 5 s before each point',
        empty: 'no data yet',
        series: MARKS.map(([field, name]) => ({ name, mark: name, value: (sample) => sample.marks[timing]?.[field] ?? null })),
    });
}

function useChart(cursor) {
    const reading = (name) => (sample) => sample.metrics[name] ?? null;
    return new LineChart({
        title: 'Objects and waiting takes',
        cursor,
        series: [
            { name: 'in use', mark: 'held', filled: true, value: reading('held') },
            { name: 'waiting', mark: 'waiting', value: reading('waiting') },
            { name: 'idle', mark: 'idle-line', value: reading('idle') },
            { name: 'limit', mark: 'muted', dashed: true, value: reading('max') },
        ],
    });
}

// ---- View ---------------------------------------------------------------------------------------------

export class PoolView {
    constructor(component) {
        const cursor = new Cursor();
        this.charts = [
            useChart(cursor),
            timesChart('Wait time', 'wait', cursor),
            timesChart('Hold time', 'use', cursor),
            new HeatMap({ title: 'Distribution of wait times', timing: 'wait', none: 'no wait', nothing: 'no take had to wait', cursor }),
            new HeatMap({ title: 'Distribution of hold times', timing: 'use', none: 'no time', nothing: 'no measurable hold time', cursor }),
        ];
        this.holders = holdersTable((holder) => leaksOf(this.component).includes(holder));
        this.waiters = waitersTable();
        this.log = new Log({ component: component.number, title: `Events of ${component.name}` });
        this.settings = el('dl', { class: 'facts' });
        this.counts = el('dl', { class: 'facts' });
        this.badges = el('span', { class: 'badges' });
        this.controls = new Controls();
        this.bar = new Bar('Objects');
        this.places = el('p', { class: 'places' });
        this.figures = new Figures();
        this.why = el('summary', {});
        this.more = el('p', {});
        this.explanation = el('details', { class: 'explanation' }, this.why, this.more);
        this.error = el('p', { class: 'last-error' });
        this.tabs = new Tabs('Pool sections', [
            {
                name: 'Charts',
                element: el('div', { class: 'charts' }, ...this.charts.map((chart) => chart.element)),
                shown: () => this.drawCharts(),
            },
            { name: 'Holders', element: this.holders.element },
            { name: 'Waiters', element: this.waiters.element },
            { name: 'Events', element: this.log.element },
            {
                name: 'Settings',
                element: el('div', {}, el('h3', { text: 'Settings' }), this.settings, el('h3', { text: 'Numbers' }), this.counts),
            },
        ]);
        this.element = el(
            'div',
            { class: 'view pool' },
            this.head(component),
            el(
                'section',
                { class: 'card wide' },
                this.bar.element,
                this.places,
                this.figures.element,
                this.explanation,
                this.error,
            ),
            this.tabs.element,
        );
    }

    head(component) {
        const system = component.system ? el('span', { class: 'system', text: component.system }) : null;
        return el(
            'header',
            { class: 'view-head' },
            el(
                'div',
                {},
                el('a', { href: '#/', class: 'back', text: 'Overview' }),
                el('h1', { tabindex: '-1' }, nameOf(component.name, component.number), system, this.badges),
            ),
            this.controls.element,
        );
    }

    update({ component, record, now_ns, process, events }) {
        this.component = component;
        this.record = record;
        this.now_ns = now_ns;
        const description = component.description ?? {};
        updateBadges(this.badges, concernsOf(component));
        this.controls.update(component, process.control);
        this.bar.update(placesOf(component), component.metrics.max ?? 0);
        setText(this.places, `${summary(component)} · limit ${countText(component.metrics.max)}`);
        this.updateFigures(component, record);
        this.updateTexts(description);
        const waiters = (description.waiters ?? []).map((waiter, index) => ({ ...waiter, place: index + 1 }));
        this.holders.update(description.holders ?? [], description.holders_more);
        this.waiters.update(waiters, description.waiters_more);
        this.tabs.name(1, `Holders ${countText((description.holders ?? []).length + (description.holders_more ?? 0))}`);
        this.tabs.name(2, `Waiters ${countText(waiters.length + (description.waiters_more ?? 0))}`);
        this.log.update(events);
        updateFacts(
            this.settings,
            Object.entries(description).filter(([name, value]) => isSetting(name, value)),
        );
        updateFacts(this.counts, Object.entries(component.metrics));
        if (this.tabs.chosen === 0) this.drawCharts();
    }

    updateFigures(component, record) {
        const [waitHalf, waitMost] = twoMarks(record, 'wait');
        const [useHalf, useMost] = twoMarks(record, 'use');
        const breaker = breakerOf(component);
        const pairs = [
            ['waiting', countText(component.metrics.waiting ?? 0), component.metrics.waiting > 0 ? 'warning' : null],
            ['takes', rateText(takesOf(record))],
            ['wait p50', timeText(waitHalf)],
            ['wait p99', timeText(waitMost)],
            ['hold p50', timeText(useHalf)],
            ['hold p99', timeText(useMost)],
            ['breaker', breaker, breaker === 'closed' ? null : 'error'],
        ];
        if (component.histograms?.create) pairs.push(['open p50', timeText(percentile(totalsOf(component.histograms.create), 0.5))]);
        this.figures.update(pairs);
    }

    updateTexts(description) {
        const [why, ...more] = (description.explanation ?? '').trim().replace(`pool "${this.component.name}": `, '').split('\n');
        setText(this.why, why);
        setText(this.more, more.join('\n'));
        setHidden(this.explanation, why === '');
        const code = description.last_error_code ? ` (${description.last_error_code})` : '';
        const ago = description.last_error_ago_ns === undefined ? '' : `, ${timeText(description.last_error_ago_ns)} ago`;
        setText(this.error, description.last_error ? `Last error${ago}: ${description.last_error}${code}` : '');
        setHidden(this.error, !description.last_error);
    }

    drawCharts() {
        if (this.record) for (const chart of this.charts) chart.show(this.record.samples, this.now_ns);
    }
}

const NO_SETTINGS = new Set(['cause', 'explanation', 'last_error', 'last_error_code', 'last_error_ago_ns', 'breaker', 'paused']);

function isSetting(name, value) {
    return !NO_SETTINGS.has(name) && !Array.isArray(value) && !name.endsWith('_more') && valueText(name, value) !== '';
}
