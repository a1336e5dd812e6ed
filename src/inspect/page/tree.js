// SPDX-License-Identifier: MIT
// The supervision tree: supervisors and their children, some of which are supervisors themselves.

import { el, setText, setAttribute, setHidden, keyed, nameOf } from './dom.js';
import { countText } from './numbers.js';
import { hrefOf } from './parts.js';

// Returns the supervisors that are not children of another one.
export function rootsOf(components) {
    const supervisors = components.filter((component) => component.kind === 'supervisor');
    const nested = new Set();
    for (const component of supervisors) {
        for (const child of component.description?.children ?? []) if (child.supervisor) nested.add(child.supervisor);
    }
    return supervisors.filter((component) => !nested.has(component.number));
}

export class Tree {
    constructor() {
        this.element = el('ul', { class: 'tree', 'aria-label': 'Supervision tree' });
    }

    update(roots, components) {
        const numbered = new Map(components.map((component) => [component.number, component]));
        const nodes = roots.map((component) => ({ name: component.name, supervisor: component.number }));
        updateNodes(this.element, nodes, numbered, new Set());
    }
}

// A node is a child as its supervisor reports it. `supervisor`: the number of a child that is a supervisor and has
// children itself.
// `above`: the supervisors on the path to here. One cannot be below itself, even if the data was read at different
// times.
function updateNodes(list, nodes, numbered, above) {
    const placed = nodes.map((node, place) => ({ ...node, place }));
    keyed(
        list,
        placed,
        (node) => `${node.place} ${node.supervisor ?? ''} ${node.name}`,
        makeNode,
        (parts, node) => {
            const component = above.has(node.supervisor) ? undefined : numbered.get(node.supervisor);
            updateState(parts, node);
            setText(parts.strategy, component?.description?.strategy?.replaceAll('_', ' ') ?? '');
            setText(
                parts.count,
                component ? `${countText(component.metrics.running ?? 0)} of ${countText(component.metrics.children ?? 0)} running` : '',
            );
            setHidden(parts.below, !component);
            updateNodes(parts.below, component?.description?.children ?? [], numbered, new Set([...above, node.supervisor]));
        },
    );
}

function updateState(parts, node) {
    setHidden(parts.state, !node.state);
    setText(parts.state, node.state ?? '');
    setAttribute(parts.state, 'data-state', node.state);
    setText(parts.policy, node.policy ?? '');
    setHidden(parts.restarts, !(node.restarts > 0));
    setText(parts.restarts, `${countText(node.restarts ?? 0)} ${node.restarts === 1 ? 'restart' : 'restarts'}`);
}

function makeNode(node) {
    const name = nameOf(String(node.name ?? ''), node.supervisor);
    const parts = {
        state: el('span', { class: 'state' }),
        strategy: el('span', { class: 'system' }),
        policy: el('span', { class: 'note' }),
        restarts: el('span', { class: 'badge warning' }),
        count: el('span', { class: 'note' }),
        below: el('ul', {}),
    };
    const titled = node.supervisor ? el('a', { href: hrefOf({ kind: 'supervisor', number: node.supervisor }) }, name) : name;
    parts.element = el(
        'li',
        {},
        el('div', { class: 'node' }, titled, parts.state, parts.strategy, parts.policy, parts.restarts, parts.count),
        parts.below,
    );
    return parts;
}
