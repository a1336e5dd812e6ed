// SPDX-License-Identifier: MIT
// Everything at a glance: what needs attention, a card for each pool, crew, lanes and router, the supervision tree, and a
// table for all other things.

import { el, setText, setHidden, keyed, nameOf } from './dom.js';
import { countText, rateText, wordsOf } from './numbers.js';
import { concernsOf, sentenceOf } from './concerns.js';
import { PoolCard } from './pool.js';
import { ThingCard } from './things.js';
import { Table } from './table.js';
import { hrefOf } from './parts.js';
import { Tree, rootsOf } from './tree.js';

const TASKS_AND_ROUTES = ['crew', 'lanes', 'router', 'mux_pool'];
const FEW = 4; // pools whose cards have room for their oldest holders
const DRAWN = new Set(['pool', ...TASKS_AND_ROUTES, 'supervisor']);

// ---- Attention -----------------------------------------------------------------------------

const WEIGHT = { error: 2, warning: 1 };

class Attention {
    constructor() {
        this.list = el('ul', { class: 'attention-list' });
        this.element = el('section', { class: 'attention', 'aria-label': 'What needs attention' }, this.list);
    }

    update(things) {
        const troubled = things.map((thing) => ({ thing, level: worst(concernsOf(thing)) })).filter(({ level }) => WEIGHT[level]);
        troubled.sort((a, b) => WEIGHT[b.level] - WEIGHT[a.level]);
        setHidden(this.element, troubled.length === 0);
        keyed(
            this.list,
            troubled,
            ({ thing, level }) => `${thing.number} ${level}`,
            ({ thing, level }) => {
                const sentence = el('span', {});
                return {
                    element: el('li', { class: level }, el('a', { href: hrefOf(thing) }, nameOf(thing.name, thing.number)), sentence),
                    sentence,
                };
            },
            ({ sentence }, { thing }) => setText(sentence, `: ${sentenceOf(thing)}`),
        );
    }
}

function worst(concerns) {
    return ['error', 'warning', 'notice'].find((level) => concerns.some((concern) => concern.level === level));
}

// ---- Cards of some kinds -------------------------------------------------------------------------

class Cards {
    constructor(kinds, title, Card) {
        this.kinds = kinds;
        this.Card = Card;
        this.count = el('span', { class: 'note' });
        this.grid = el('div', { class: Card === PoolCard ? 'cards' : 'cards narrow' });
        this.element = el('section', { 'aria-label': title }, el('h2', {}, title, this.count), this.grid);
    }

    update(things, history) {
        const mine = things.filter((thing) => this.kinds.includes(thing.kind) && !isPartOfLanes(thing, things));
        setHidden(this.element, mine.length === 0);
        setText(this.count, String(mine.length));
        keyed(
            this.grid,
            mine,
            (thing) => thing.number,
            (thing) => new this.Card(thing),
            (card, thing) => card.update(thing, history.of(thing.number), history.at_ns, mine.length <= FEW),
        );
    }
}

// Lanes run on crews of their own, whose numbers are the lanes' already.
function isPartOfLanes({ kind, name }, things) {
    const [, whole] = /^(.*)-(?:high|normal|low)$/.exec(name) ?? [];
    return kind === 'crew' && whole !== undefined && things.some((thing) => thing.kind === 'lanes' && thing.name === whole);
}

// ---- The others -----------------------------------------------------------------------------------

function othersTable(history) {
    const busiest = (thing) => {
        const rates = (thing.counters ?? []).map((name) => [name, history().of(thing.number).rate(name, 10e9) ?? 0]);
        return rates.sort((a, b) => b[1] - a[1])[0];
    };
    return new Table({
        title: 'Other things',
        empty: '',
        key: (thing) => thing.number,
        sort: { column: 1, down: false },
        columns: [
            { label: 'name', value: (thing) => thing.name, fill: fillLink },
            { label: 'kind', text: (thing) => wordsOf(thing.kind) },
            { label: 'now', text: (thing) => gaugesText(thing) },
            {
                label: 'busiest',
                number: true,
                value: (thing) => busiest(thing)?.[1] ?? 0,
                text: (thing) => (busiest(thing) ? `${wordsOf(busiest(thing)[0])} ${rateText(busiest(thing)[1])}` : '–'),
            },
        ],
    });
}

function fillLink(cell, thing) {
    if (!cell.firstChild) cell.append(el('a', { href: hrefOf(thing) }, nameOf(thing.name, thing.number)));
}

function gaugesText(thing) {
    const gauges = Object.entries(thing.readings).filter(([name]) => !(thing.counters ?? []).includes(name));
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
        this.cards = [new Cards(['pool'], 'Pools', PoolCard), new Cards(TASKS_AND_ROUTES, 'Tasks and routes', ThingCard)];
        this.tree = new Tree();
        this.trees = el('section', { 'aria-label': 'Supervision' }, el('h2', { text: 'Supervision' }), this.tree.element);
        this.table = othersTable(() => this.history);
        this.others = el('section', { 'aria-label': 'Others' }, el('h2', { text: 'Others' }), this.table.element);
        this.nothing = el('p', {
            class: 'empty',
            text: 'This process has no pool, crew, router or anything else of cenote yet. It appears here when it does.',
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

    update({ things, history }) {
        this.history = history;
        this.attention.update(things);
        for (const cards of this.cards) cards.update(things, history);
        const roots = rootsOf(things);
        setHidden(this.trees, roots.length === 0);
        this.tree.update(roots, things);
        const others = things.filter((thing) => !DRAWN.has(thing.kind) || isPartOfLanes(thing, things));
        setHidden(this.others, others.length === 0);
        this.table.update(others);
        setHidden(this.nothing, things.length > 0);
    }
}
