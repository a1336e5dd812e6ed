// SPDX-License-Identifier: MIT
// The link to the process: polls once a second while the page is visible, backs off while there is no response, and
// goes on when there is one. All requests go to the origin of the page.

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;
const BACKOFF_MOST_MS = 10000;
const PROCESS_EVERY_MS = 10000;
const EVENTS_AT_ONCE = 500;
const UNSEEN_MS = 4000;

// A response with an error status.
export class Refused extends Error {
    constructor(code, status, text) {
        super(text);
        this.code = code;
        this.status = status;
    }
}

// Moves the token from the address, where others could see or copy it, into this tab's session storage.
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
        throw new Refused(answer.status, body.error?.status ?? '?', body.error?.text ?? `The process returned HTTP ${answer.status}.`);
    return body;
}

export function tell(number, action, value) {
    const body = JSON.stringify(value === undefined ? { action } : { action, value });
    return ask(`api/components/${number}/invoke`, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
}

// Pids are reused, so the start time is compared, too. It is exact within the ticks of two clocks.
export function isSame(one, other) {
    return one.pid === other.pid && Math.abs(one.started_ns - other.started_ns) < 2e9;
}

// Calls seen({process, at_ns, components, events, missed, fresh}) after each poll, and changed({state, in_ms, text,
// defect}) when the link is 'live', 'gone' or 'locked' (the token is missing or wrong).
// `defect`: the link is live, but the page failed to draw the data. `fresh`: the response is from another process than
// before.
export class Link {
    constructor(seen, changed, levelWanted) {
        this.levelWanted = levelWanted; // of events, such as 'notice'
        this.level = levelWanted();
        this.seen = seen;
        this.changed = changed;
        this.process = null;
        this.process_at = -Infinity;
        this.looked_at = -Infinity;
        this.next = 0;
        this.fresh = false; // another process responds, and the view has not been told
        this.failures = 0;
        this.timer = 0;
        this.looking = false;
        document.addEventListener('visibilitychange', () => this.wake());
    }

    // Polls now, if the page is visible.
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

    // An exception while a poll is drawn is the page's fault, and not a failure of the process. Returns true if there
    // was one.
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
        // One request after the other: the process allows few connections, and one is enough for a page.
        let look = await ask('api/components?parts=1');
        if (!isSame(this.process, look)) {
            await this.askWho(began); // another process has taken its place
            look = await ask('api/components?parts=1');
        }
        const level = this.levelWanted();
        if (level !== this.level) this.next = 0; // events that were filtered out before are wanted now
        const reread = level !== this.level;
        this.level = level;
        const events = await ask(`api/events?after=${this.next}&limit=${EVENTS_AT_ONCE}&level=${level}`);
        this.next = events.next;
        const fresh = this.fresh;
        // The process has recorded the time that this page missed, because it was opened or made visible just now. An
        // older version has no such record.
        const past = fresh || began - this.looked_at > UNSEEN_MS ? await ask('api/history').catch(() => null) : null;
        this.fresh = false;
        this.looked_at = performance.now();
        return { process: this.process, at_ns: look.now_ns, components: look.components, events: events.events, missed: events.missed, fresh, reread, past };
    }

    async askWho(began) {
        const process = await ask('api/process');
        if (!this.process || !isSame(this.process, process)) {
            this.fresh = true; // until the view was told: the next request may fail
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
        const text = error instanceof Refused ? error.message : 'The process does not respond. It may have ended.';
        this.changed({ state: 'gone', in_ms: wait, text });
        return wait;
    }
}
