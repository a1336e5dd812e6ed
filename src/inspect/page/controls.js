// SPDX-License-Identifier: MIT
// Controls: a button for each action of a component, if the process allows it, with a confirmation before the action is
// invoked.

import { el, setHidden, keyed, nameOf, say } from './dom.js';
import { tell } from './link.js';
import { wordsOf } from './numbers.js';

const ACTIONS = {
    pause: { label: 'Pause', question: 'Takes wait until the pool is resumed. Held objects can still be given back.' },
    resume: { label: 'Resume', question: 'Takes are served again.' },
    resize: {
        label: 'Resize',
        question: 'Change the limit?',
        value: 'New limit',
        least: 1,
        from: (component) => component.metrics.max ?? component.metrics.workers ?? 1,
    },
    reload: {
        label: 'Reload',
        question: 'Replace every object with a new one?',
        value: 'Over how many seconds',
        least: 0,
        factor: 1e9,
        from: () => 0,
    },
    evict: { label: 'Evict idle', question: 'Close all idle objects?' },
    test: { label: 'Test', question: 'Run a health check on all idle objects now?' },
};

// The labels and inputs of each action. Among actions without an entry, resize_high and limit_total take a number, and
// others take none.
// take none.
function howTo(action) {
    if (ACTIONS[action]) return ACTIONS[action];
    const [, what, which] = /^(resize|limit)_(.+)$/.exec(action) ?? [];
    if (!what) return { label: wordsOf(action), question: 'Do this now?' };
    const now = {
        resize: (component) => laneOf(component, which)?.workers,
        limit: (component) => component.metrics[`${which}_max`] ?? component.metrics[`max_${which}`],
    };
    const question = what === 'resize' ? 'How many workers?' : 'Maximum number of tasks?';
    return {
        label: `${what === 'resize' ? 'Workers' : 'Limit'}: ${wordsOf(which)}`,
        question,
        value: 'New number',
        from: (component) => now[what](component) ?? 1,
    };
}

function laneOf(component, name) {
    return (component.description?.lanes ?? []).find((lane) => lane.name === name);
}

export class Controls {
    constructor() {
        this.element = el('div', { class: 'controls', role: 'group', 'aria-label': 'Controls' });
    }

    update(component, allowed) {
        const focused = [...this.element.children].indexOf(document.activeElement);
        const actions = allowed ? (component.actions ?? []).filter((action) => this.applies(component, action)) : [];
        keyed(
            this.element,
            actions,
            (action) => action,
            (action) => {
                const button = el('button', {
                    type: 'button',
                    text: howTo(action).label,
                    on: { click: () => confirmAction(this.component, action, button, this.element) },
                });
                return { element: button };
            },
            () => {},
        );
        this.component = component;
        setHidden(this.element, actions.length === 0);
        // Pause becomes Resume in the same place, so the keyboard focus stays there.
        if (focused >= 0 && !this.element.contains(document.activeElement))
            this.element.children[focused]?.focus({ preventScroll: true });
    }

    // Of two opposite actions only the one that would change something.
    applies(component, action) {
        const both = component.actions.includes('pause') && component.actions.includes('resume');
        if (!both || component.metrics.paused === undefined) return true;
        if (action === 'pause') return !component.metrics.paused;
        return action !== 'resume' || Boolean(component.metrics.paused);
    }
}

function confirmAction(component, action, button, controls) {
    const how = howTo(action);
    const number = how.value
        ? el('input', { type: 'number', id: 'action-value', required: true, min: how.least, step: 1, value: how.from(component) })
        : null;
    const error = el('p', { class: 'error', role: 'alert' });
    const yes = el('button', { type: 'submit', class: 'primary', text: how.label });
    const no = el('button', { type: 'button', text: 'Cancel', on: { click: () => dialog.close() } });
    const form = el(
        'form',
        { method: 'dialog' },
        el('h2', { id: 'action-title' }, `${how.label}: `, nameOf(component.name, component.number)),
        el('p', { text: how.question }),
        number ? el('label', { for: 'action-value', text: how.value }) : null,
        number,
        error,
        el('div', { class: 'buttons' }, no, yes),
    );
    const dialog = el('dialog', { 'aria-labelledby': 'action-title' }, form);
    dialog.addEventListener('close', () => {
        dialog.remove();
        (button.isConnected ? button : controls.querySelector('button'))?.focus();
    });
    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        yes.disabled = true;
        error.textContent = '';
        try {
            await tell(component.number, action, number ? number.valueAsNumber * (how.factor ?? 1) : undefined);
            dialog.close();
            say(`${component.name}: ${how.label.toLowerCase()} done`);
        } catch (cause) {
            error.textContent = cause.status ? cause.message : 'The process did not respond. The command may or may not have been carried out.';
            yes.disabled = false;
        }
    });
    document.body.append(dialog);
    dialog.showModal();
    (number ?? yes).focus();
    number?.select();
}
