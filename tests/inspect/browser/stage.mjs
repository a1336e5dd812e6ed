// SPDX-License-Identifier: MIT
// What the tests of the page stand on: the shop as a process, Chromium with an empty profile, a watch over all that the browser
// asks and says, and tests that are counted.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const { chromium } = createRequire(`${process.env.CENOTE_BROWSER_MODULES}/`)('playwright-core');

// ---- Tests ---------------------------------------------------------------------------------

const results = { passed: 0, failed: 0 };

export async function test(sentence, body) {
    const began = performance.now();
    let failure = null;
    try {
        await body();
    } catch (error) {
        failure = error;
    }
    results[failure ? 'failed' : 'passed']++;
    console.log(`${failure ? 'FAIL' : 'ok  '} ${sentence} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    if (failure) console.log(String(failure.stack ?? failure).replace(/^/gm, '     | '));
    if (failure) for (const line of await stateOfPages()) console.log(`     | ${line}`);
    const log = process.env.CENOTE_TEST_LOG;
    const subject = process.env.CENOTE_TESTED ?? 'page';
    if (log) appendFileSync(log, `${failure ? 'fail' : 'pass'} ${subject}: ${sentence}\n`);
}

// The pages that are open now, each with the requests that are under way: what a failure may have waited for.
const pages = new Map();

async function stateOfPages() {
    const lines = [];
    for (const [page, underWay] of pages) {
        const shown = await Promise.race([
            page.evaluate(() => document.body.innerText).catch((error) => error.message),
            new Promise((done) => setTimeout(done, 5000, 'the page does not respond')),
        ]);
        lines.push(`${page.url()} shows: ${shown.replace(/\s+/g, ' ').slice(0, 400)}`);
        for (const [request, began] of underWay)
            lines.push(`    under way for ${((performance.now() - began) / 1000).toFixed(1)} s: ${request.url()}`);
    }
    return lines;
}

export function allPassed() {
    return results.failed === 0 && results.passed > 0;
}

// How long anything may take. It ends hangs and judges nothing, so it is long enough for a machine with other work.
export const HANG_MS = 120000;

// Wait until `check` returns something true, and return that. A failure names what was awaited and the last error.
export async function until(what, check, ms = HANG_MS) {
    const end = performance.now() + ms;
    let last = null;
    for (;;) {
        try {
            const answer = await check();
            if (answer) return answer;
            last = null;
        } catch (error) {
            last = error;
        }
        if (performance.now() > end) assert.fail(`${what} did not come within ${ms / 1000} s${last ? `: ${last.message}` : ''}`);
        await new Promise((done) => setTimeout(done, 40));
    }
}

// ---- The shop --------------------------------------------------------------------------------

// The shop allows control over TCP, which requires a token.
export const TOKEN = 'the-token-of-every-shop';

export class Shop {
    static async start(title, at = '127.0.0.1:0', token = TOKEN, ...more) {
        const shop = new Shop();
        shop.token = token;
        shop.process = spawn(process.env.CENOTE_SHOP, [title, at, token, ...more], { stdio: ['pipe', 'pipe', 'inherit'] });
        shop.ended = new Promise((done) => shop.process.on('exit', (status, signal) => done(status ?? signal)));
        shop.lines = createInterface({ input: shop.process.stdout })[Symbol.asyncIterator]();
        const { value } = await shop.lines.next();
        assert.match(value ?? 'it ended', /^see http:\/\/127\.0\.0\.1:\d+\/$/);
        shop.address = value.slice(4);
        return shop;
    }

    async tell(line) {
        this.process.stdin.write(`${line}\n`);
        assert.equal((await this.lines.next()).value, 'done');
    }

    async end() {
        if (!this.process.stdin.writableEnded) this.process.stdin.end('end\n');
        return this.ended;
    }

    async ask(path, options) {
        const headers = { Authorization: `Bearer ${this.token}` };
        return (await fetch(new URL(path, this.address), { headers, ...options })).json();
    }

    async components() {
        return (await this.ask('api/components?parts=1')).components;
    }

    async component(name) {
        return (await this.components()).find((component) => component.name === name);
    }
}

// ---- The browser -------------------------------------------------------------------------------

const FLAGS = [
    '--headless',
    '--remote-debugging-port=0',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-dev-shm-usage',
    '--force-color-profile=srgb',
    '--hide-scrollbars',
    '--mute-audio',
    '--password-store=basic',
    '--disable-breakpad',
    '--disable-extensions',
    '--disable-hang-monitor',
    // A page that is not in front is tested like any other.
    '--disable-background-timer-throttling',
    '--disable-backgrounding-occluded-windows',
    '--disable-renderer-backgrounding',
    '--disable-features=HttpsUpgrades,OptimizationHints,PaintHolding,Translate',
];

// The browser stays in the session of these tests. A launcher that gives it one of its own leaves it without processor time for
// minutes on a busy machine: where the kernel groups processes by session (sched_autogroup), the other session comes first.
// Chromium refuses its own sandbox to root.
export async function launch() {
    const profile = mkdtempSync(join(tmpdir(), 'cenote-browser-'));
    const flags = [...FLAGS, ...(process.getuid() === 0 ? ['--no-sandbox'] : []), `--user-data-dir=${profile}`];
    const child = spawn(process.env.CENOTE_CHROMIUM, flags, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = new Promise((done) => child.on('exit', done));
    process.on('exit', () => child.kill('SIGKILL')); // after a failure; close() has ended it otherwise
    const browser = await chromium.connectOverCDP(await addressIn(child.stderr));
    browser.close = async () => {
        const session = await browser.newBrowserCDPSession();
        await session.send('Browser.close').catch(() => {}); // its end may come before its response
        await ended;
        rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    };
    return browser;
}

// The address for the connection, which Chromium prints. What else it prints is read and dropped.
function addressIn(stream) {
    return new Promise((done, failed) => {
        let printed = '';
        stream.on('data', (part) => {
            printed = (printed + part).slice(-4096);
            const [, address] = /^DevTools listening on (ws:.*)$/m.exec(printed) ?? [];
            if (address) done(address);
        });
        stream.on('end', () => failed(new Error(`Chromium did not start: ${printed}`)));
    });
}

// The browser opens sockets in advance. If it is held up for long the server has ended one that was silent, and the browser shows
// that instead of opening another. The page then loads again by itself (boot.js), or its next look succeeds (link.js).
export const STALE_SOCKET = /ERR_SOCKET_NOT_CONNECTED/;

// link.js gives up a request after five seconds; a fetch that is held up before it is sent is given up sooner.
const GIVEN_UP_S = 4;

// Everything that a page must not do is noted here, unless it was announced.
export class Watch {
    constructor() {
        this.wrong = [];
        this.hosts = new Set();
        this.requests = 0;
        this.looks = 0;
        this.allowed = null;
    }

    async over(page) {
        let leaves = false; // the context is being closed, or the page loads again: what is under way is aborted
        const note = (text) => {
            if (STALE_SOCKET.test(text)) leaves = true;
            else if (!this.allowed?.test(text)) this.wrong.push(text);
        };
        page.on('load', () => (leaves = false));
        const underWay = new Map();
        pages.set(page, underWay);
        page.on('close', () => pages.delete(page));
        page.on('request', (request) => underWay.set(request, performance.now()));
        for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => underWay.delete(request));
        const context = page.context();
        const close = context.close.bind(context);
        context.close = () => {
            leaves = true;
            return close();
        };
        page.on('console', (message) => {
            if (['error', 'warning'].includes(message.type())) note(`${message.type()}: ${message.text()}`);
        });
        page.on('pageerror', (error) => note(`exception: ${error.message}`));
        page.on('dialog', (dialog) => {
            note(`dialog: ${dialog.message()}`);
            dialog.dismiss();
        });
        page.on('requestfailed', (request) => {
            const why = request.failure()?.errorText;
            if (why !== 'net::ERR_ABORTED') note(`failed: ${request.url()} ${why}`);
        });
        // The page gives up a request after five seconds: a busy machine's fault, and shown as one. Both moments are the browser's
        // own: its messages arrive late when this process was held up.
        const began = new Map();
        const inside = await context.newCDPSession(page);
        inside.on('Network.requestWillBeSent', ({ requestId, timestamp, request }) =>
            began.set(requestId, { at: timestamp, url: request.url }),
        );
        inside.on('Network.loadingFailed', ({ requestId, timestamp, errorText }) => {
            const { at, url } = began.get(requestId) ?? { at: -Infinity };
            if (errorText === 'net::ERR_ABORTED' && !leaves && timestamp - at < GIVEN_UP_S)
                note(`failed: ${url} ${errorText} after ${(timestamp - at).toFixed(1)} s`);
        });
        await inside.send('Network.enable');
        page.on('response', (response) => {
            if (response.status() >= 400) note(`answer: ${response.status()} ${response.url()}`);
        });
        page.on('request', (request) => {
            this.requests++;
            if (/\/api\/components\?/.test(request.url())) this.looks++;
            this.hosts.add(new URL(request.url()).host);
        });
        return page;
    }

    // Wait until the page has sent no request for that long.
    async silence(ms) {
        let [seen, since] = [this.requests, performance.now()];
        await until(`${ms} ms without a request`, () => {
            if (this.requests !== seen) [seen, since] = [this.requests, performance.now()];
            return performance.now() - since >= ms;
        });
    }

    async during(allowed, body) {
        this.allowed = allowed;
        try {
            await body();
        } finally {
            this.allowed = null;
        }
    }
}
