// SPDX-License-Identifier: MIT
// Controls: a button for each verb that a thing obeys, if the process allows it, and a question before it is told.

import { el, setHidden, keyed, nameOf, say } from './dom.js';
import { tell } from './link.js';
import { wordsOf } from './numbers.js';

const VERBS = {
    pause: { label: 'Pause', question: 'Pause it? Takes wait until it is resumed; what is out may be given back.' },
    resume: { label: 'Resume', question: 'Resume it? Takes are served again.' },
    resize: {
        label: 'Resize',
        question: 'How many at most?',
        value: 'New limit',
        least: 1,
        from: (thing) => thing.readings.max ?? thing.readings.workers ?? 1,
    },
    reload: {
        label: 'Reload',
        question: 'Replace every object by a new one?',
        value: 'Over how many seconds',
        least: 0,
        factor: 1e9,
        from: () => 0,
    },
    evict: { label: 'Evict idle', question: 'Close every object that is idle?' },
    test: { label: 'Test', question: 'Test what is idle now?' },
};

// How a verb is asked for. One that is not in the list: resize_high and limit_total have a number, others have none.
function howTo(verb) {
    if (VERBS[verb]) return VERBS[verb];
    const [, what, which] = /^(resize|limit)_(.+)$/.exec(verb) ?? [];
    if (!what) return { label: wordsOf(verb), question: 'Shall it?' };
    const now = {
        resize: (thing) => laneOf(thing, which)?.workers,
        limit: (thing) => thing.readings[`${which}_max`] ?? thing.readings[`max_${which}`],
    };
    const question = what === 'resize' ? 'How many workers?' : 'How many tasks at most?';
    return {
        label: `${what === 'resize' ? 'Workers' : 'Limit'}: ${wordsOf(which)}`,
        question,
        value: 'New number',
        from: (thing) => now[what](thing) ?? 1,
    };
}

function laneOf(thing, name) {
    return (thing.sketch?.lanes ?? []).find((lane) => lane.name === name);
}

export class Controls {
    constructor() {
        this.element = el('div', { class: 'controls', role: 'group', 'aria-label': 'Controls' });
    }

    update(thing, allowed) {
        const focused = [...this.element.children].indexOf(document.activeElement);
        const verbs = allowed ? (thing.verbs ?? []).filter((verb) => this.applies(thing, verb)) : [];
        keyed(
            this.element,
            verbs,
            (verb) => verb,
            (verb) => {
                const button = el('button', {
                    type: 'button',
                    text: howTo(verb).label,
                    on: { click: () => confirmVerb(this.thing, verb, button, this.element) },
                });
                return { element: button };
            },
            () => {},
        );
        this.thing = thing;
        setHidden(this.element, verbs.length === 0);
        // Pause becomes Resume where it stood: who came by keys goes on from there.
        if (focused >= 0 && !this.element.contains(document.activeElement))
            this.element.children[focused]?.focus({ preventScroll: true });
    }

    // Of two opposite ones the one that would change something.
    applies(thing, verb) {
        const both = thing.verbs.includes('pause') && thing.verbs.includes('resume');
        if (!both || thing.readings.paused === undefined) return true;
        if (verb === 'pause') return !thing.readings.paused;
        return verb !== 'resume' || Boolean(thing.readings.paused);
    }
}

function confirmVerb(thing, verb, button, controls) {
    const how = howTo(verb);
    const number = how.value
        ? el('input', { type: 'number', id: 'verb-value', required: true, min: how.least, step: 1, value: how.from(thing) })
        : null;
    const error = el('p', { class: 'error', role: 'alert' });
    const yes = el('button', { type: 'submit', class: 'primary', text: how.label });
    const no = el('button', { type: 'button', text: 'Cancel', on: { click: () => dialog.close() } });
    const form = el(
        'form',
        { method: 'dialog' },
        el('h2', { id: 'verb-title' }, `${how.label}: `, nameOf(thing.name, thing.number)),
        el('p', { text: how.question }),
        number ? el('label', { for: 'verb-value', text: how.value }) : null,
        number,
        error,
        el('div', { class: 'buttons' }, no, yes),
    );
    const dialog = el('dialog', { 'aria-labelledby': 'verb-title' }, form);
    dialog.addEventListener('close', () => {
        dialog.remove();
        (button.isConnected ? button : controls.querySelector('button'))?.focus();
    });
    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        yes.disabled = true;
        error.textContent = '';
        try {
            await tell(thing.number, verb, number ? number.valueAsNumber * (how.factor ?? 1) : undefined);
            dialog.close();
            say(`${thing.name}: ${how.label.toLowerCase()} is done`);
        } catch (cause) {
            error.textContent = cause.status ? cause.message : 'The process did not answer; nothing is known of what it did.';
            yes.disabled = false;
        }
    });
    document.body.append(dialog);
    dialog.showModal();
    (number ?? yes).focus();
    number?.select();
}
