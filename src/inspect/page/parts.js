// SPDX-License-Identifier: MIT
// Parts shared by several views: badges, bars, named numbers, tabs, and a component's description.

import { el, setText, setAttribute, setHidden, keyed } from './dom.js';
import { valueText, wordsOf } from './numbers.js';
import { Table } from './table.js';

export function hrefOf(component) {
    return `#/${encodeURIComponent(component.kind)}/${component.number}`;
}

// ---- Badges --------------------------------------------------------------------------

// concerns: [{level: 'notice' | 'warning' | 'error', text}]
export function updateBadges(place, concerns) {
    keyed(
        place,
        concerns,
        ({ level, text }) => `${level} ${text}`,
        ({ level, text }) => ({ element: el('span', { class: `badge ${level}`, text }) }),
        () => {},
    );
}

// ---- Named numbers -----------------------------------------------------------------------

export class Figures {
    constructor() {
        this.element = el('dl', { class: 'figures' });
    }

    // pairs: [name, text, level]
    update(pairs) {
        keyed(
            this.element,
            pairs,
            ([name]) => name,
            ([name]) => {
                const value = el('dd');
                return { element: el('div', {}, el('dt', { text: name }), value), value };
            },
            ({ element, value }, [, text, level]) => {
                setText(value, text);
                setAttribute(element, 'class', level ?? null);
            },
        );
    }
}

// ---- A bar of parts against a limit --------------------------------------------------------

export class Bar {
    constructor(label) {
        this.element = el('div', { class: 'bar', role: 'img', 'aria-label': label });
        this.label = label;
    }

    // parts: [name, count, mark]; `limit`: the sum that fills the bar
    update(parts, limit) {
        const all = Math.max(
            limit,
            parts.reduce((sum, [, count]) => sum + count, 0),
            1,
        );
        const there = parts.filter(([, count]) => count > 0);
        keyed(
            this.element,
            there,
            ([name]) => name,
            ([, , mark]) => ({ element: el('span', { class: `part part-${mark}` }) }),
            ({ element }, [name, count]) => {
                element.style.width = `${(count / all) * 100}%`;
                setAttribute(element, 'title', `${name}: ${count}`);
            },
        );
        setAttribute(
            this.element,
            'aria-label',
            `${this.label}: ${there.map(([name, count]) => `${count} ${name}`).join(', ') || 'none'}, limit ${limit}`,
        );
    }
}

// ---- Tabs -------------------------------------------------------------------------------------

let tabs = 0;

export class Tabs {
    // pages: [{name, element, shown()}]
    constructor(label, pages) {
        this.pages = pages;
        const set = ++tabs;
        this.buttons = pages.map(({ name }, index) =>
            el('button', {
                type: 'button',
                role: 'tab',
                id: `tab-${set}-${index}`,
                'aria-controls': `panel-${set}-${index}`,
                text: name,
                on: { click: () => this.choose(index), keydown: (event) => this.key(event, index) },
            }),
        );
        this.panels = pages.map(({ element }, index) =>
            el(
                'div',
                {
                    role: 'tabpanel',
                    id: `panel-${set}-${index}`,
                    'aria-labelledby': `tab-${set}-${index}`,
                    class: 'panel',
                },
                element,
            ),
        );
        this.element = el(
            'div',
            { class: 'tabs' },
            el('div', { role: 'tablist', 'aria-label': label }, ...this.buttons),
            ...this.panels,
        );
        this.choose(0);
    }

    key(event, index) {
        const last = this.buttons.length - 1;
        const to = { ArrowRight: index === last ? 0 : index + 1, ArrowLeft: index === 0 ? last : index - 1, Home: 0, End: last }[
            event.key
        ];
        if (to === undefined) return;
        event.preventDefault();
        this.choose(to);
        this.buttons[to].focus();
    }

    choose(chosen) {
        this.chosen = chosen;
        this.buttons.forEach((button, index) => {
            button.setAttribute('aria-selected', String(index === chosen));
            button.tabIndex = index === chosen ? 0 : -1;
            this.panels[index].hidden = index !== chosen;
        });
        this.pages[chosen].shown?.();
    }

    name(index, text) {
        setText(this.buttons[index], text);
    }
}

// ---- A component's description, for any kind ---------------------------------------------------------

// Lists become tables; all other fields become names with values.
export class Description {
    constructor(without = []) {
        this.without = new Set(without);
        this.facts = el('dl', { class: 'facts' });
        this.lists = el('div', { class: 'lists' });
        this.element = el('div', { class: 'description' }, this.facts, this.lists);
    }

    update(description) {
        const all = Object.entries(description ?? {}).filter(([name]) => !this.without.has(name));
        const lists = all.filter(([, value]) => Array.isArray(value));
        const facts = all.filter(([name, value]) => !Array.isArray(value) && !this.isBeyond(description, name));
        updateFacts(this.facts, facts);
        keyed(
            this.lists,
            lists,
            ([name]) => name,
            ([name]) => makeList(name),
            (list, [name, items]) => list.update(items, description[`${name}_more`]),
        );
        setHidden(this.facts, facts.length === 0);
    }

    isBeyond(description, name) {
        return name.endsWith('_more') && Array.isArray(description[name.slice(0, -5)]);
    }
}

export function updateFacts(place, facts) {
    keyed(
        place,
        facts,
        ([name]) => name,
        ([name]) => {
            const value = el('dd');
            return { element: el('div', {}, el('dt', { text: wordsOf(name) }), value), value };
        },
        ({ value }, [name, fact]) => setText(value, valueText(name, fact)),
    );
}

function makeList(name) {
    const place = el('div', {});
    const list = { element: el('section', {}, el('h3', { text: wordsOf(name) }), place), table: null, names: '' };
    list.update = (items, beyond) => {
        const names = columnsOf(items);
        if (!list.table || names.join() !== list.names) {
            list.names = names.join();
            list.table = listTable(name, names);
            place.replaceChildren(list.table.element);
        }
        list.table.update(
            items.map((item, index) => ({ ...item, '': index })),
            beyond,
        );
    };
    return list;
}

function columnsOf(items) {
    const names = new Set();
    for (const item of items) for (const [name, value] of Object.entries(item)) if (!Array.isArray(value)) names.add(name);
    return [...names];
}

function listTable(title, names) {
    const columns = names.map((name) => ({
        label: wordsOf(name),
        value: (item) => item[name],
        text: (item) => valueText(name, item[name]),
        number: name.endsWith('_ns') || ['uses', 'failed', 'in_flight', 'queued', 'running', 'restarts'].includes(name),
    }));
    return new Table({
        title: wordsOf(title),
        columns: columns.length ? columns : [{ label: '', text: () => '' }],
        key: (item) => item[''],
        empty: 'none',
    });
}
