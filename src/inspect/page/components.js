// SPDX-License-Identifier: MIT
// Every kind except pools: crews, lanes, routers, supervisors; for all other kinds, their numbers.

import { el, setText, setAttribute, setHidden, nameOf, keyed } from './dom.js';
import { countText, rateText, timeText, valueText, wordsOf } from './numbers.js';
import { concernsOf } from './concerns.js';
import { Cursor, LineChart, Spark } from './chart.js';
import { timesChart, twoMarks } from './pool.js';
import { Controls } from './controls.js';
import { Table } from './table.js';
import { Figures, Description, Tabs, hrefOf, updateBadges, updateFacts } from './parts.js';
import { Log } from './log.js';
import { Tree } from './tree.js';

const RECENT_NS = 10e9;

// ---- What each kind shows ------------------------------------------------------------------------

const reading = (name) => (sample) => sample.metrics[name] ?? null;
const line = (name, reads, mark, filled) => ({ name, mark, filled, value: reading(reads) });

const KINDS = {
    crew: {
        chart: 'Tasks',
        series: [
            line('queued', 'queued', 'waiting', true),
            line('running', 'running', 'held'),
            line('waiting', 'waiting', 'idle-line'),
        ],
        gauges: ['queued', 'running', 'waiting', 'idle', 'blocked'],
        rates: [['finished', 'tasks']],
    },
    lanes: {
        chart: 'Queued tasks',
        series: [line('high', 'high_queued', 'p99'), line('normal', 'normal_queued', 'held'), line('low', 'low_queued', 'p90')],
        gauges: [['high_queued', 'high'], ['normal_queued', 'normal'], ['low_queued', 'low'], 'admitted'],
        rates: [],
    },
    router: {
        chart: 'Uses in flight and waiters',
        series: [line('in flight', 'in_flight', 'held', true), line('waiting', 'waiting', 'waiting')],
        gauges: ['in_flight', 'waiting', 'up', 'members'],
        rates: [
            ['uses', 'uses'],
            ['failed', 'failed'],
        ],
        times: ['latency'],
    },
    mux_pool: {
        chart: 'Requests in flight and waiting',
        series: [line('in flight', 'in_flight', 'held', true), line('waiting', 'waiting', 'waiting')],
        gauges: ['in_flight', 'waiting', 'up', 'connections'],
        rates: [['answered', 'answers']],
    },
    mux: {
        chart: 'Requests in flight and waiting',
        series: [line('in flight', 'in_flight', 'held', true), line('waiting', 'waiting', 'waiting')],
        gauges: ['in_flight', 'waiting'],
        rates: [
            ['replied', 'replies'],
            ['sent', 'sent'],
        ],
    },
    supervisor: {
        chart: 'Children',
        series: [
            line('running', 'running', 'held', true),
            line('to be restarted', 'waiting', 'waiting'),
            line('down', 'down', 'max'),
        ],
        gauges: ['children', 'running', 'waiting', 'down'],
        rates: [['restarts', 'restarts']],
    },
    queue: {
        chart: 'Length',
        series: [
            line('length', 'length', 'held', true),
            line('waiting pushes', 'pushes_waiting', 'waiting'),
            line('waiting pops', 'pops_waiting', 'idle-line'),
        ],
        gauges: ['length', 'pushes_waiting', 'pops_waiting'],
        rates: [],
    },
    actor: {
        chart: 'Queued messages',
        series: [line('queued', 'queued', 'waiting', true)],
        gauges: ['queued'],
        rates: [
            ['handled', 'handled'],
            ['dropped', 'dropped'],
        ],
    },
};

// A kind without an entry gets a chart of its first two gauges.
function kindOf(component) {
    if (KINDS[component.kind]) return KINDS[component.kind];
    const gauges = Object.keys(component.metrics)
        .filter((name) => !(component.counters ?? []).includes(name))
        .slice(0, 2);
    const marks = ['held', 'waiting'];
    return {
        chart: gauges.map(wordsOf).join(', '),
        series: gauges.map((name, index) => line(wordsOf(name), name, marks[index], index === 0)),
        gauges,
        rates: (component.counters ?? []).slice(0, 2).map((name) => [name, wordsOf(name)]),
    };
}

function figuresOf(component, record) {
    const { gauges, rates, times = [] } = kindOf(component);
    const marksOf = (timing) => {
        const [half, most] = twoMarks(record, timing);
        return [
            [`${timing} p50`, timeText(half)],
            [`${timing} p99`, timeText(most)],
        ];
    };
    return [
        ...gauges
            .map((gauge) => (Array.isArray(gauge) ? gauge : [gauge, wordsOf(gauge)]))
            .filter(([name]) => name in component.metrics)
            .map(([name, label]) => [label, valueText(name, component.metrics[name])]),
        ...rates
            .filter(([name]) => name in component.metrics)
            .map(([name, label]) => [label, rateText(record.rate(name, RECENT_NS))]),
        ...times.filter((timing) => timing in (component.histograms ?? {})).flatMap(marksOf),
    ];
}

// ---- Card ---------------------------------------------------------------------------------------

export class ComponentCard {
    constructor(component) {
        const { chart, series } = kindOf(component);
        this.badges = el('span', { class: 'badges' });
        this.figures = new Figures();
        this.tiles = component.kind === 'crew' ? new Tiles() : null;
        this.spark = new Spark({ label: `${chart}, last five minutes`, series });
        this.element = el(
            'article',
            { class: 'card small' },
            el(
                'h3',
                {},
                el('a', { href: hrefOf(component) }, nameOf(component.name, component.number)),
                el('span', { class: 'system', text: wordsOf(component.kind) }),
                this.badges,
            ),
            this.tiles?.element,
            this.figures.element,
            this.spark.element,
        );
    }

    update(component, record, now_ns) {
        const concerns = concernsOf(component);
        updateBadges(this.badges, concerns);
        this.element.dataset.level = concerns[0]?.level ?? 'fine';
        this.tiles?.update(component.description?.workers ?? []);
        this.figures.update(figuresOf(component, record));
        this.spark.show(record.samples, now_ns);
    }
}

// ---- Workers as tiles ------------------------------------------------------------------------------

class Tiles {
    constructor() {
        this.element = el('ul', { class: 'tiles', 'aria-label': 'Workers' });
    }

    update(workers) {
        setHidden(this.element, workers.length === 0);
        keyed(
            this.element,
            workers,
            (worker) => worker.number,
            () => ({ element: el('li', { class: 'tile' }) }),
            ({ element }, worker) => {
                const step = worker.step_ns > 0 ? `, ${timeText(worker.step_ns)}` : '';
                const task = worker.task === undefined || worker.task === null ? '' : `, ${worker.task}`;
                setAttribute(element, 'data-state', worker.state);
                setAttribute(element, 'title', `worker ${worker.number}: ${worker.state}${task}${step}`);
                setText(element, String(worker.state ?? '?').slice(0, 1));
                setAttribute(element, 'aria-label', `worker ${worker.number}: ${worker.state}${task}${step}`);
            },
        );
    }
}

// ---- Members ------------------------------------------------------------------------------------------

function membersTable() {
    const most = { in_flight: 1 };
    const table = new Table({
        title: 'Members',
        empty: 'no members',
        key: (member) => `${member.number ?? ''} ${member.name ?? ''}`,
        columns: [
            {
                label: 'member',
                value: (member) => member.name ?? member.number,
                text: (member) => String(member.name ?? `#${member.number}`),
            },
            { label: 'state', fill: fillState, value: (member) => member.state },
            {
                label: 'load',
                number: true,
                value: (member) => member.in_flight,
                fill: (cell, member) => fillLoad(cell, member.in_flight ?? 0, most.in_flight),
            },
            { label: 'uses', number: true, value: (member) => member.uses, text: (member) => countText(member.uses) },
            { label: 'failed', number: true, value: (member) => member.failed, text: (member) => countText(member.failed) },
            {
                label: 'latency',
                number: true,
                value: (member) => member.latency_ns,
                text: (member) => timeText(member.latency_ns),
            },
            { label: 'weight', number: true, value: (member) => member.weight, text: (member) => countText(member.weight) },
        ],
    });
    const update = table.update.bind(table);
    table.update = (members, beyond) => {
        most.in_flight = Math.max(1, ...members.map((member) => member.in_flight ?? 0));
        update(members, beyond);
    };
    return table;
}

function fillState(cell, member) {
    if (!cell.firstChild) cell.append(el('span', { class: 'state' }), el('span', { class: 'note' }));
    setText(cell.firstChild, member.state ?? '–');
    setAttribute(cell.firstChild, 'data-state', member.state);
    const since = member.since_ns === undefined ? '' : ` for ${timeText(member.since_ns)}`;
    setText(cell.lastChild, `${since}${member.last_error ? `: ${member.last_error}` : ''}`);
}

function fillLoad(cell, count, most) {
    if (!cell.firstChild)
        cell.append(el('span', { class: 'load', 'aria-hidden': 'true' }, el('span', {})), el('span', { class: 'load-count' }));
    cell.firstChild.firstChild.style.width = `${(count / most) * 100}%`;
    setText(cell.lastChild, countText(count));
}

// ---- View -------------------------------------------------------------------------------------------------

export class ComponentView {
    constructor(component) {
        const { chart, series } = kindOf(component);
        const cursor = new Cursor();
        this.charts = [];
        if (series.length > 0) this.charts.push(new LineChart({ title: chart, series, cursor }));
        for (const timing of Object.keys(component.histograms ?? {}))
            this.charts.push(timesChart(`Times: ${wordsOf(timing)}`, timing, cursor));
        this.badges = el('span', { class: 'badges' });
        this.controls = new Controls();
        this.figures = new Figures();
        this.tiles = component.kind === 'crew' ? new Tiles() : null;
        this.members = component.description?.members ? membersTable() : null;
        this.tree = component.kind === 'supervisor' ? new Tree() : null;
        this.description = new Description(['members', 'members_more', ...(this.tree ? ['children', 'children_more'] : [])]);
        this.counts = el('dl', { class: 'facts' });
        this.log = new Log({ component: component.number, title: `Events of ${component.name}` });
        this.element = el(
            'div',
            { class: 'view' },
            this.head(component),
            el('section', { class: 'card wide' }, this.tiles?.element, this.figures.element),
            this.body(),
        );
    }

    head(component) {
        return el(
            'header',
            { class: 'view-head' },
            el(
                'div',
                {},
                el('a', { href: '#/', class: 'back', text: 'Overview' }),
                el(
                    'h1',
                    { tabindex: '-1' },
                    nameOf(component.name, component.number),
                    el('span', { class: 'system', text: wordsOf(component.kind) }),
                    this.badges,
                ),
            ),
            this.controls.element,
        );
    }

    body() {
        const parts = el('div', { class: 'charts' }, ...this.charts.map((chart) => chart.element));
        this.tabs = new Tabs('Sections', [
            {
                name: 'Now',
                element: el('div', {}, parts, this.members?.element, this.tree?.element, this.description.element),
                shown: () => this.drawCharts(),
            },
            { name: 'Events', element: this.log.element },
            { name: 'Numbers', element: this.counts },
        ]);
        return this.tabs.element;
    }

    update({ component, record, now_ns, process, events, components }) {
        this.record = record;
        this.now_ns = now_ns;
        updateBadges(this.badges, concernsOf(component));
        this.controls.update(component, process.control);
        this.figures.update(figuresOf(component, record));
        this.tiles?.update(component.description?.workers ?? []);
        this.members?.update(component.description?.members ?? [], component.description?.members_more);
        this.tree?.update([component], components);
        this.description.update(component.description);
        updateFacts(this.counts, Object.entries(component.metrics));
        this.log.update(events);
        if (this.tabs.chosen === 0) this.drawCharts();
    }

    drawCharts() {
        if (this.record) for (const chart of this.charts) chart.show(this.record.samples, this.now_ns);
    }
}
