// SPDX-License-Identifier: MIT
// Elements. Everything that a process reports is inserted as text, never as markup: a pool may have any name.

// el('p', {class: 'note', text: '...', 'aria-label': '...', on: {click}}, child, ...)
export function el(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
        if (value === undefined || value === null || value === false) continue;
        if (name === 'text') element.textContent = value;
        else if (name === 'on') for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
        else element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

// Writes only what has changed, so that selections and the reading position stay.
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

export function setHidden(element, hidden) {
    if (element.hidden !== hidden) element.hidden = hidden;
}

// Numbers of components that share their kind and name with another one. Their names are shown with the number.
const twins = new Set();

export function tellTwinsApart(components) {
    const seen = new Map();
    twins.clear();
    for (const { kind, name, number } of components) {
        const key = `${kind} ${name}`;
        if (seen.has(key)) twins.add(number).add(seen.get(key));
        else seen.set(key, number);
    }
    for (const name of document.querySelectorAll('bdi[data-number]'))
        name.classList.toggle('twin', twins.has(Number(name.dataset.number)));
}

// A name given by the program, isolated from the direction of the text around it; `number`: of the component.
export function nameOf(text, number) {
    return el('bdi', {
        'data-number': number,
        class: twins.has(number) ? 'twin' : null,
        text: text === '' ? '(no name)' : text,
    });
}

const kept = new WeakMap();

// Makes the children of `parent` match `items` in order. An item that was there before keeps its element.
export function keyed(parent, items, keyOf, make, update) {
    const before = kept.get(parent) ?? new Map();
    const after = new Map();
    for (const item of items) {
        const key = keyOf(item);
        if (after.has(key)) continue;
        after.set(key, before.get(key) ?? make(item));
    }
    for (const [key, child] of before) if (!after.has(key)) child.element.remove();
    let place = parent.firstChild;
    for (const child of after.values()) {
        if (child.element === place) {
            place = place.nextSibling;
            continue;
        }
        const focused = child.element.contains(document.activeElement) ? document.activeElement : null;
        parent.insertBefore(child.element, place);
        if (focused) focused.focus({ preventScroll: true });
    }
    kept.set(parent, after);
    const seen = new Set();
    for (const item of items) {
        const key = keyOf(item);
        if (seen.has(key)) continue;
        seen.add(key);
        update(after.get(key), item);
    }
}

// Shows a message once, also to screen readers.
let sayTimer = 0;
export function say(text, level = 'notice') {
    const place = document.getElementById('said');
    place.textContent = text;
    place.dataset.level = level;
    clearTimeout(sayTimer);
    sayTimer = setTimeout(() => {
        place.textContent = '';
    }, 6000);
}
