// SPDX-License-Identifier: MIT
// The event log: what happened, newest first, with a filter by text, level and kind, and a button that holds it still.

import { el, setText, setHidden, keyed, nameOf } from './dom.js';
import { clockText, countText } from './numbers.js';
import { hrefOf } from './parts.js';

const LEVELS = ['detail', 'notice', 'warning', 'error']; // takes and gives one by one would be a flood: no page asks for them
const SHOWN = 300;

export class Events {
    constructor(most = 3000) {
        this.most = most;
        this.level = Events.usual;
        this.clear();
    }

    // Which events the page asks for. Single waits are details: they come by the thousand and would push all else out.
    static usual = 'notice';

    clear() {
        this.all = [];
        this.count = 0; // with those that are kept no more
        this.missed = 0;
        this.kinds = new Set();
    }

    add(events, missed) {
        this.missed += missed ?? 0;
        for (const one of events) this.kinds.add(one.component_kind || 'program');
        this.all.push(...events);
        this.count += events.length;
        let excess = this.all.length - this.most;
        if (excess > 0) this.all = this.all.filter((one) => one.level !== 'detail' || excess-- <= 0);
        if (this.all.length > this.most) this.all.splice(0, this.all.length - this.most);
    }
}

// Whether an event passes: every word of the text is somewhere in it, its level is high enough, its component is of the kind.
export function passes(one, { words, level, kind, component }) {
    if (component !== null && one.component !== component) return false;
    if (LEVELS.indexOf(one.level) < level) return false;
    if (kind && (one.component_kind || 'program') !== kind) return false;
    const whole = `${one.what} ${one.what.replaceAll('_', ' ')} ${one.component_kind} ${one.component_name} ${one.text}`.toLowerCase();
    return words.every((word) => whole.includes(word));
}

export class Log {
    // component: a number, for a log of that component's own events; null for all
    constructor({ component = null, title = 'Events' } = {}) {
        this.component = component;
        this.still = null; // what is shown while it is held still
        this.text = el('input', {
            type: 'search',
            placeholder: 'Filter',
            'aria-label': 'Filter by text',
            on: { input: () => this.draw() },
        });
        this.level = el(
            'select',
            { 'aria-label': 'Least level', on: { change: () => this.choose() } },
            ...LEVELS.map((level) =>
                el('option', {
                    value: level,
                    selected: level === Events.usual ? '' : null,
                    text: level === 'error' ? 'errors only' : level === 'detail' ? 'all levels' : `${level} and above`,
                }),
            ),
        );
        this.kind = el(
            'select',
            { 'aria-label': 'Kind', on: { change: () => this.draw() } },
            el('option', { value: '', text: 'all kinds' }),
        );
        this.hold = el('button', { type: 'button', 'aria-pressed': 'false', text: 'Pause', on: { click: () => this.toggle() } });
        this.count = el('span', { class: 'note' });
        this.list = el('ol', { class: 'events', 'aria-label': title });
        this.nothing = el('p', { class: 'empty', text: 'nothing happened' });
        this.element = el(
            'div',
            { class: 'log' },
            el(
                'div',
                { class: 'filter', role: 'search' },
                this.text,
                this.level,
                component === null ? this.kind : null,
                this.hold,
                this.count,
            ),
            this.list,
            this.nothing,
        );
    }

    // Details are asked for as soon as somebody wants them, from the oldest that the process still has.
    choose() {
        if (this.level.value === 'detail' && this.events) this.events.level = 'detail';
        this.draw();
    }

    toggle() {
        this.still = this.still ? null : [...this.events.all];
        this.still_count = this.events.count;
        this.hold.setAttribute('aria-pressed', String(Boolean(this.still)));
        setText(this.hold, this.still ? 'Go on' : 'Pause');
        this.draw();
    }

    update(events) {
        this.events = events;
        for (const kind of [...events.kinds].sort()) {
            if (![...this.kind.options].some((option) => option.value === kind))
                this.kind.append(el('option', { value: kind, text: kind }));
        }
        this.draw();
    }

    draw() {
        if (!this.events) return;
        const filter = {
            words: this.text.value.toLowerCase().split(/\s+/).filter(Boolean),
            level: LEVELS.indexOf(this.level.value),
            kind: this.kind.value,
            component: this.component,
        };
        const passed = (this.still ?? this.events.all).filter((one) => passes(one, filter));
        const shown = passed.slice(-SHOWN).reverse();
        keyed(
            this.list,
            shown,
            (one) => one.number,
            makeEvent,
            () => {},
        );
        setHidden(this.nothing, shown.length > 0);
        setText(this.nothing, this.events.all.length > 0 ? 'no event passes the filter' : 'nothing has happened yet');
        setText(this.count, this.countOf(passed.length));
    }

    countOf(passed) {
        const parts = [`${countText(passed)} of ${countText((this.still ?? this.events.all).length)}`];
        if (this.still) parts.push(`${countText(Math.max(0, this.events.count - this.still_count))} newer`);
        if (this.events.missed > 0) parts.push(`${countText(this.events.missed)} missed`);
        return parts.join(' · ');
    }
}

function makeEvent(one) {
    const of = one.component
        ? el('a', { href: hrefOf({ kind: one.component_kind, number: one.component }) }, nameOf(one.component_name, one.component))
        : el('span', { text: 'program' });
    return {
        element: el(
            'li',
            { class: `event ${LEVELS.includes(one.level) ? one.level : ''}` },
            el('time', { datetime: new Date(one.time_ns / 1e6).toISOString(), text: clockText(one.time_ns) }),
            el('span', { class: 'level', text: one.level }),
            el('span', { class: 'of' }, of),
            el('span', { class: 'what', text: one.what.replaceAll('_', ' ') }),
            el('span', { class: 'sentence', text: one.text }),
        ),
    };
}
