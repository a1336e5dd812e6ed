// SPDX-License-Identifier: MIT
// The link to the process: looks once a second while the page is seen, backs off when nobody answers, and goes on when
// somebody does. Every request goes to where the page came from.

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;
const BACKOFF_MOST_MS = 10000;
const PROCESS_EVERY_MS = 10000;
const EVENTS_AT_ONCE = 500;
const UNSEEN_MS = 4000;

// What the process answered other than yes.
export class Refused extends Error {
    constructor(code, status, text) {
        super(text);
        this.code = code;
        this.status = status;
    }
}

// The token leaves the address, where it could be read over a shoulder or copied, and stays with this tab.
export function startToken() {
    const address = new URL(location.href);
    const token = address.searchParams.get('token');
    if (token === null) return;
    keepToken(token);
    address.searchParams.delete('token');
    history.replaceState(null, '', address);
}

export function keepToken(token) {
    sessionStorage.setItem('cenote-token', token);
}

function headers() {
    const token = sessionStorage.getItem('cenote-token');
    return token ? { Authorization: `Bearer ${token}` } : {};
}

async function ask(path, options = {}) {
    const answer = await fetch(path, {
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.timeout(PATIENCE_MS),
        ...options,
        headers: { ...headers(), ...options.headers },
    });
    const body = await answer.json();
    if (!answer.ok)
        throw new Refused(answer.status, body.error?.status ?? '?', body.error?.text ?? `The process answered ${answer.status}.`);
    return body;
}

export function tell(number, action, value) {
    const body = JSON.stringify(value === undefined ? { action } : { action, value });
    return ask(`api/components/${number}/invoke`, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
}

// A number of a process is used again; when it began is known within the ticks of two clocks.
export function isSame(one, other) {
    return one.pid === other.pid && Math.abs(one.started_ns - other.started_ns) < 2e9;
}

// Calls seen({process, at_ns, components, events, missed, fresh}) after each look, and changed({state, in_ms, text, defect}) when the link is
// 'live', 'gone' or 'locked' (the token is missing or wrong); `defect`: it is live, and what it told could not be drawn. `fresh`: another process answers than before.
export class Link {
    constructor(seen, changed, levelWanted) {
        this.levelWanted = levelWanted; // of events: 'notice'
        this.level = levelWanted();
        this.seen = seen;
        this.changed = changed;
        this.process = null;
        this.process_at = -Infinity;
        this.looked_at = -Infinity;
        this.next = 0;
        this.fresh = false; // another process answers, of which nothing was told yet
        this.failures = 0;
        this.timer = 0;
        this.looking = false;
        document.addEventListener('visibilitychange', () => this.wake());
    }

    // Looks now, if the page is seen.
    wake() {
        clearTimeout(this.timer);
        if (!document.hidden && !this.looking) this.look();
    }

    async look() {
        const began = performance.now();
        this.looking = true;
        let wait = EVERY_MS;
        try {
            const look = await this.lookOnce(began);
            this.failures = 0;
            this.changed({ state: 'live', defect: this.show(look) });
            wait = Math.max(50, EVERY_MS - (performance.now() - began));
        } catch (error) {
            wait = this.failed(error);
        }
        this.looking = false;
        clearTimeout(this.timer);
        if (!document.hidden) this.timer = setTimeout(() => this.look(), wait);
    }

    // What goes wrong while a look is drawn is the page's fault, and is not to be taken for silence of the process.
    // Answers whether anything did.
    show(look) {
        try {
            this.seen(look);
            return false;
        } catch (error) {
            reportError(error);
            return true;
        }
    }

    async lookOnce(began) {
        if (began - this.process_at > PROCESS_EVERY_MS || this.failures > 0) await this.askWho(began);
        // One after the other: the process has few connections to give away, and one is enough for a page.
        let look = await ask('api/components?parts=1');
        if (!isSame(this.process, look)) {
            await this.askWho(began); // another one has come in its place since
            look = await ask('api/components?parts=1');
        }
        const level = this.levelWanted();
        if (level !== this.level) this.next = 0; // what was passed over before is wanted now
        const reread = level !== this.level;
        this.level = level;
        const events = await ask(`api/events?after=${this.next}&limit=${EVENTS_AT_ONCE}&level=${level}`);
        this.next = events.next;
        const fresh = this.fresh;
        // What was not seen, because the page has just come or was not looked at, the process has kept. One of an older version has not.
        const past = fresh || began - this.looked_at > UNSEEN_MS ? await ask('api/history').catch(() => null) : null;
        this.fresh = false;
        this.looked_at = performance.now();
        return { process: this.process, at_ns: look.now_ns, components: look.components, events: events.events, missed: events.missed, fresh, reread, past };
    }

    async askWho(began) {
        const process = await ask('api/process');
        if (!this.process || !isSame(this.process, process)) {
            this.fresh = true; // until it was told: what is asked next may fail
            this.next = 0;
        }
        this.process = process;
        this.process_at = began;
    }

    failed(error) {
        this.failures++;
        if (error instanceof Refused && error.code === 401) {
            this.changed({ state: 'locked', text: error.message });
            return BACKOFF_MOST_MS;
        }
        const wait = Math.min(BACKOFF_MOST_MS, EVERY_MS * 2 ** Math.min(this.failures - 1, 5));
        const text = error instanceof Refused ? error.message : 'The process does not answer. It may have ended.';
        this.changed({ state: 'gone', in_ms: wait, text });
        return wait;
    }
}
