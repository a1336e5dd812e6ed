// SPDX-License-Identifier: MIT
// The page: current data, current view, and the state of the link to the process.

import { el, setText, setHidden, setAttribute, say, tellTwinsApart } from './dom.js';
import { startTheme, onTheme } from './theme.js';
import { Link, keepToken, startToken } from './link.js';
import { History } from './history.js';
import { timeText } from './numbers.js';
import { Events, Log } from './log.js';
import { OverviewView } from './overview.js';
import { PoolView } from './pool.js';
import { ComponentView } from './components.js';

sessionStorage.removeItem('cenote-reloads'); // all parts have loaded: boot.js

const place = (id) => document.getElementById(id);
const seen = { process: null, components: [], history: new History(), events: new Events() };
let view = null;
let shown = ''; // the address of the current view

// ---- Views ------------------------------------------------------------------------------

class EventsView {
    constructor() {
        this.log = new Log();
        this.element = el('div', { class: 'view' }, el('h1', { tabindex: '-1', text: 'Events' }), this.log.element);
    }

    update({ events }) {
        this.log.update(events);
    }
}

// A component that has been freed keeps its last view, with a note. One that never existed has no view.
class GoneView {
    constructor(number) {
        this.element = el(
            'div',
            { class: 'view' },
            el('h1', { tabindex: '-1', text: 'Not found' }),
            el('p', { class: 'empty', text: `This process has no component with the number ${number}. It may have been removed.` }),
            el('p', {}, el('a', { href: '#/', text: 'Back to the overview' })),
        );
    }

    update() {}
}

class OneThing {
    constructor(component) {
        this.number = component.number;
        this.component = component;
        this.view = component.kind === 'pool' ? new PoolView(component) : new ComponentView(component);
        this.gone = el('p', { class: 'banner notice', hidden: true, text: 'This component has been removed. The page shows its last data.' });
        this.element = el('div', {}, this.gone, this.view.element);
    }

    update(state) {
        const component = state.components.find(({ number }) => number === this.number);
        setHidden(this.gone, Boolean(component));
        this.component = component ?? this.component;
        this.view.update({
            ...state,
            component: this.component,
            record: state.history.of(this.number),
            now_ns: state.history.at_ns,
            process: component ? state.process : { control: false },
        });
    }
}

function viewOf(address) {
    const [, kind, number] = /^#\/([^/]*)(?:\/(\d+))?/.exec(address) ?? ['', '', undefined];
    if (number !== undefined) {
        const component = seen.components.find((one) => one.number === Number(number));
        return component ? new OneThing(component) : new GoneView(number);
    }
    return kind === 'events' ? new EventsView() : new OverviewView();
}

// ---- Current view --------------------------------------------------------------------------

function route() {
    if (!seen.process) return;
    const address = location.hash || '#/';
    const moved = shown !== '' && shown !== address;
    if (shown !== address || view instanceof GoneView) {
        view = viewOf(address);
        shown = address;
        place('main').replaceChildren(view.element);
        place('main').dataset.view = address;
        for (const link of document.querySelectorAll('#nav a')) {
            setAttribute(link, 'aria-current', link.getAttribute('href') === address ? 'page' : null);
        }
        if (moved) {
            scrollTo(0, 0);
            view.element.querySelector('h1')?.focus({ preventScroll: true });
        }
    }
    view.update(seen);
}

function showProcess(process, at_ns) {
    setText(place('title'), process.title || process.program);
    document.title = `${process.title || process.program} · cenote`;
    setText(
        place('process'),
        `${process.program}, process ${process.pid}, up ${timeText(at_ns - process.started_ns)}, cenote ${process.version}`,
    );
}

function onSeen({ process, at_ns, components, events, missed, fresh, reread, past }) {
    if (fresh && seen.process) {
        seen.history = new History();
        seen.events.clear();
        shown = '';
        say('A different process is responding. Its history begins here.');
    }
    if (reread) seen.events.clear();
    seen.process = process;
    seen.components = components;
    tellTwinsApart(components);
    if (past) seen.history.remember(past, at_ns);
    seen.history.add(at_ns, components);
    seen.events.add(events, missed);
    showProcess(process, at_ns);
    const worrying = seen.events.all.filter(
        ({ level, time_ns }) => (level === 'warning' || level === 'error') && time_ns > at_ns - 60e9,
    ).length;
    setText(place('worrying'), worrying > 0 ? String(worrying) : '');
    setAttribute(place('worrying'), 'aria-label', worrying > 0 ? `${worrying} warnings in the last minute` : null);
    route();
}

// ---- The link's state -----------------------------------------------------------------------------

const LINK_WORDS = { live: 'live', gone: 'no response', locked: 'token required' };
let countdown = 0;

function onChanged({ state, in_ms, text, defect }) {
    clearInterval(countdown);
    const status = place('link');
    status.dataset.state = state;
    setText(status, LINK_WORDS[state]);
    document.body.classList.toggle('stale', state !== 'live');
    setHidden(place('gone'), state !== 'gone');
    setHidden(place('locked'), state !== 'locked');
    setHidden(place('defect'), !defect);
    setHidden(place('hello'), true);
    if (state === 'locked') setText(place('locked-text'), text);
    if (state !== 'gone') return;
    setText(place('gone-text'), text);
    const until = performance.now() + in_ms;
    const count = () =>
        setText(place('gone-when'), `Next attempt in ${Math.max(1, Math.ceil((until - performance.now()) / 1000))} s.`);
    count();
    countdown = setInterval(count, 1000);
}

// ---- Start ------------------------------------------------------------------------------------------

startTheme();
startToken();
const link = new Link(onSeen, onChanged, () => seen.events.level);
onTheme(() => view?.update(seen));
addEventListener('hashchange', route);
place('skip').addEventListener('click', (event) => {
    event.preventDefault(); // the address determines the view
    place('main').focus();
});
place('again').addEventListener('click', () => link.wake());
place('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    keepToken(place('token').value);
    place('token').value = '';
    link.wake();
});
link.wake();
