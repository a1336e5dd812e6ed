// SPDX-License-Identifier: MIT
// The overview: what needs attention, a card for each pool, crew, lanes and router, the supervision tree, and a table
// of all other components.

import { el, setText, setHidden, keyed, nameOf } from './dom.js';
import { countText, rateText, wordsOf } from './numbers.js';
import { concernsOf, sentenceOf } from './concerns.js';
import { PoolCard } from './pool.js';
import { ComponentCard } from './components.js';
import { Table } from './table.js';
import { hrefOf } from './parts.js';
import { Tree, rootsOf } from './tree.js';

const TASKS_AND_ROUTES = ['crew', 'lanes', 'router', 'mux_pool'];
const FEW = 4; // up to this many pools, cards have room for their oldest holders
const DRAWN = new Set(['pool', ...TASKS_AND_ROUTES, 'supervisor']);

// ---- Attention -----------------------------------------------------------------------------

const WEIGHT = { error: 2, warning: 1 };

class Attention {
    constructor() {
        this.list = el('ul', { class: 'attention-list' });
        this.element = el('section', { class: 'attention', 'aria-label': 'Needs attention' }, this.list);
    }

    update(components) {
        const troubled = components.map((component) => ({ component, level: worst(concernsOf(component)) })).filter(({ level }) => WEIGHT[level]);
        troubled.sort((a, b) => WEIGHT[b.level] - WEIGHT[a.level]);
        setHidden(this.element, troubled.length === 0);
        keyed(
            this.list,
            troubled,
            ({ component, level }) => `${component.number} ${level}`,
            ({ component, level }) => {
                const sentence = el('span', {});
                return {
                    element: el('li', { class: level }, el('a', { href: hrefOf(component) }, nameOf(component.name, component.number)), sentence),
                    sentence,
                };
            },
            ({ sentence }, { component }) => setText(sentence, `: ${sentenceOf(component)}`),
        );
    }
}

function worst(concerns) {
    return ['error', 'warning', 'notice'].find((level) => concerns.some((concern) => concern.level === level));
}

// ---- Cards by kind --------------------------------------------------------------------------------

class Cards {
    constructor(kinds, title, Card) {
        this.kinds = kinds;
        this.Card = Card;
        this.count = el('span', { class: 'note' });
        this.grid = el('div', { class: Card === PoolCard ? 'cards' : 'cards narrow' });
        this.element = el('section', { 'aria-label': title }, el('h2', {}, title, this.count), this.grid);
    }

    update(components, history) {
        const mine = components.filter((component) => this.kinds.includes(component.kind) && !isPartOfLanes(component, components));
        setHidden(this.element, mine.length === 0);
        setText(this.count, String(mine.length));
        keyed(
            this.grid,
            mine,
            (component) => component.number,
            (component) => new this.Card(component),
            (card, component) => card.update(component, history.of(component.number), history.at_ns, mine.length <= FEW),
        );
    }
}

// Lanes have crews of their own, whose numbers the lanes show already.
function isPartOfLanes({ kind, name }, components) {
    const [, whole] = /^(.*)-(?:high|normal|low)$/.exec(name) ?? [];
    return kind === 'crew' && whole !== undefined && components.some((component) => component.kind === 'lanes' && component.name === whole);
}

// ---- The others -----------------------------------------------------------------------------------

function othersTable(history) {
    const busiest = (component) => {
        const rates = (component.counters ?? []).map((name) => [name, history().of(component.number).rate(name, 10e9) ?? 0]);
        return rates.sort((a, b) => b[1] - a[1])[0];
    };
    return new Table({
        title: 'Other components',
        empty: '',
        key: (component) => component.number,
        sort: { column: 1, down: false },
        columns: [
            { label: 'name', value: (component) => component.name, fill: fillLink },
            { label: 'kind', text: (component) => wordsOf(component.kind) },
            { label: 'now', text: (component) => gaugesText(component) },
            {
                label: 'busiest',
                number: true,
                value: (component) => busiest(component)?.[1] ?? 0,
                text: (component) => (busiest(component) ? `${wordsOf(busiest(component)[0])} ${rateText(busiest(component)[1])}` : '–'),
            },
        ],
    });
}

function fillLink(cell, component) {
    if (!cell.firstChild) cell.append(el('a', { href: hrefOf(component) }, nameOf(component.name, component.number)));
}

function gaugesText(component) {
    const gauges = Object.entries(component.metrics).filter(([name]) => !(component.counters ?? []).includes(name));
    return (
        gauges
            .slice(0, 4)
            .map(([name, value]) => `${wordsOf(name)} ${countText(value)}`)
            .join(' · ') || '–'
    );
}

// ---- View --------------------------------------------------------------------------------------------

export class OverviewView {
    constructor() {
        this.attention = new Attention();
        this.cards = [new Cards(['pool'], 'Pools', PoolCard), new Cards(TASKS_AND_ROUTES, 'Tasks and routing', ComponentCard)];
        this.tree = new Tree();
        this.trees = el('section', { 'aria-label': 'Supervision' }, el('h2', { text: 'Supervision' }), this.tree.element);
        this.table = othersTable(() => this.history);
        this.others = el('section', { 'aria-label': 'Other components' }, el('h2', { text: 'Other components' }), this.table.element);
        this.nothing = el('p', {
            class: 'empty',
            text: 'This process has no cenote components yet. They appear here as soon as the process creates them.',
        });
        this.element = el(
            'div',
            { class: 'view' },
            el('h1', { class: 'unseen', tabindex: '-1', text: 'Overview' }),
            this.attention.element,
            ...this.cards.map((cards) => cards.element),
            this.trees,
            this.others,
            this.nothing,
        );
    }

    update({ components, history }) {
        this.history = history;
        this.attention.update(components);
        for (const cards of this.cards) cards.update(components, history);
        const roots = rootsOf(components);
        setHidden(this.trees, roots.length === 0);
        this.tree.update(roots, components);
        const others = components.filter((component) => !DRAWN.has(component.kind) || isPartOfLanes(component, components));
        setHidden(this.others, others.length === 0);
        this.table.update(others);
        setHidden(this.nothing, components.length > 0);
    }
}
