// SPDX-License-Identifier: MIT
// Light and dark: the system's setting or the visitor's choice. dark.css is a stylesheet whose media attribute is
// switched.

const CHOICES = ['auto', 'light', 'dark'];
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();
let colours = null;

function remembered() {
    try {
        const choice = localStorage.getItem('cenote-theme');
        return CHOICES.includes(choice) ? choice : 'auto';
    } catch {
        return 'auto';
    }
}

let choice = remembered();

function apply() {
    const dark = choice === 'dark' || (choice === 'auto' && system.matches);
    document.getElementById('dark').media = dark ? 'all' : 'not all';
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    const button = document.getElementById('theme');
    button.dataset.choice = choice;
    button.setAttribute('aria-label', `Colours: ${choice}. Change.`);
    button.title = `Colours: ${choice}`;
    colours = null;
    for (const listener of listeners) listener();
}

export function startTheme() {
    system.addEventListener('change', apply);
    document.getElementById('theme').addEventListener('click', () => {
        choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
        try {
            localStorage.setItem('cenote-theme', choice);
        } catch {
            // Without storage the choice lasts as long as the page.
        }
        apply();
    });
    apply();
}

export function onTheme(listener) {
    listeners.add(listener);
}

// Returns a colour of the stylesheet for a canvas: colour('--held').
export function colour(name) {
    if (!colours) colours = getComputedStyle(document.documentElement);
    return colours.getPropertyValue(name).trim();
}
