// SPDX-License-Identifier: MIT
// The event log, newest first, with a filter by text, level and kind, and a pause button.

import { el, setText, setHidden, keyed, nameOf } from './dom.js';
import { clockText, countText } from './numbers.js';
import { hrefOf } from './parts.js';

const LEVELS = ['detail', 'notice', 'warning', 'error']; // not 'trace': single takes and gives would flood the page
const SHOWN = 300;

export class Events {
    constructor(most = 3000) {
        this.most = most;
        this.level = Events.usual;
        this.clear();
    }

    // The level of events that the page requests. Single waits are details: thousands of them would displace everything
    // else.
    static usual = 'notice';

    clear() {
        this.all = [];
        this.count = 0; // including events dropped since
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

// Returns true if an event passes the filter: its text contains every word, its level is high enough, and its component
// has the kind.
export function passes(one, { words, level, kind, component }) {
    if (component !== null && one.component !== component) return false;
    if (LEVELS.indexOf(one.level) < level) return false;
    if (kind && (one.component_kind || 'program') !== kind) return false;
    const whole = `${one.what} ${one.what.replaceAll('_', ' ')} ${one.component_kind} ${one.component_name} ${one.text}`.toLowerCase();
    return words.every((word) => whole.includes(word));
}

export class Log {
    // component: the number of a component, for its own log; null for all events
    constructor({ component = null, title = 'Events' } = {}) {
        this.component = component;
        this.still = null; // the events that are shown while the log is paused
        this.text = el('input', {
            type: 'search',
            placeholder: 'Filter',
            'aria-label': 'Filter by text',
            on: { input: () => this.draw() },
        });
        this.level = el(
            'select',
            { 'aria-label': 'Lowest level', on: { change: () => this.choose() } },
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
        this.nothing = el('p', { class: 'empty', text: 'no events' });
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

    // Requests details as soon as they are wanted, starting with the oldest that the process still has.
    choose() {
        if (this.level.value === 'detail' && this.events) this.events.level = 'detail';
        this.draw();
    }

    toggle() {
        this.still = this.still ? null : [...this.events.all];
        this.still_count = this.events.count;
        this.hold.setAttribute('aria-pressed', String(Boolean(this.still)));
        setText(this.hold, this.still ? 'Continue' : 'Pause');
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
        setText(this.nothing, this.events.all.length > 0 ? 'no event matches the filter' : 'no events yet');
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
