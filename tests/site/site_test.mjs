// SPDX-License-Identifier: MIT
// The site in a browser, wide and narrow: pages, reference and search work, nothing scrolls sideways but tables and code, the
// browser reports no error and asks no other host.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { allPassed, launch, test, until, Watch } from '../inspect/browser/stage.mjs';

const SCREENS = [
    { name: 'on a desktop', viewport: { width: 1280, height: 900 }, isPhone: false },
    { name: 'on a phone', viewport: { width: 390, height: 844 }, isPhone: true },
];

async function serve(folder) {
    const server = spawn('python3', ['-u', '-m', 'http.server', '--bind', '127.0.0.1', '--directory', folder, '0'], {
        stdio: ['ignore', 'pipe', 'ignore'],
    });
    process.on('exit', () => server.kill());
    const { value } = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
    const port = /port (\d+)/.exec(value ?? '')?.[1];
    assert.ok(port, `python3 -m http.server says: ${value}`);
    return { server, address: `http://127.0.0.1:${port}/` };
}

async function standsStill(page) {
    const { scroll, width } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, width: window.innerWidth }));
    assert.ok(scroll <= width, `${page.url()} is ${scroll} pixels wide on a screen of ${width}`);
}

async function background(page) {
    const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const parts = colour.match(/\d+/g).map(Number);
    return (parts[0] + parts[1] + parts[2]) / 3;
}

async function results(page, query, isPhone) {
    if (isPhone) await page.click('label.md-header__button[for=__search]');
    await page.click('.md-search__input');
    await page.fill('.md-search__input', '');
    await page.type('.md-search__input', query);
    const listed = () =>
        page.$$eval('.md-search-result__item', (items) =>
            items.slice(0, 10).map((item) => new URL(item.querySelector('a').href).pathname.slice(1)),
        );
    await until('results of the search', async () => (await listed()).length > 0);
    return { listed };
}

async function onScreen(browser, address, { name, viewport, isPhone }) {
    const watch = new Watch();
    watch.allowed = /net::ERR_ABORTED/; // what a page still loads when it is left
    const context = await browser.newContext({ viewport, colorScheme: 'light' });
    const page = await watch.over(await context.newPage());
    const go = (path) => page.goto(new URL(path, address).href, { waitUntil: 'load' });

    await test(`the front page and its pictures are there ${name}`, async () => {
        await go('index.html');
        assert.match(await page.textContent('h1'), /^cenote/);
        for (const picture of await page.$$('article img')) {
            await picture.scrollIntoViewIfNeeded();
            await until('a picture', () => picture.evaluate((image) => image.complete && image.naturalWidth > 0));
        }
        await standsStill(page);
    });
    await test(`a page of docs has its contents, colours and a way to the sources ${name}`, async () => {
        await go('docs/pool.html');
        assert.ok((await page.$$('article .highlight span.k')).length > 0);
        assert.ok((await page.$$('.md-nav--secondary a')).length > 5);
        await standsStill(page);
        await page.click('article a[href$="include/cenote/pool.h.html"]');
        await page.waitForSelector('#L-20');
        await standsStill(page);
        await page.click('text=API reference');
        assert.match(await page.textContent('h1'), /^cenote\/pool\.h/);
    });
    await test(`the reference has its functions, and a link to one shows it ${name}`, async () => {
        await go('reference/names.html');
        await standsStill(page);
        await page.click('article a[href="pool.html#cen_pool_take"]');
        await until('the function', () => page.$eval('#cen_pool_take', (heading) => {
            const { top } = heading.getBoundingClientRect();
            return top >= 0 && top < window.innerHeight;
        }));
        await standsStill(page);
    });
    await test(`wide tables scroll in themselves ${name}`, async () => {
        for (const path of ['docs/guarantees.html', 'bench/measured.html', 'docs/components.html']) {
            await go(path);
            await page.waitForSelector('.md-typeset__scrollwrap table');
            await standsStill(page);
            const wider = await page.$$eval('.md-typeset__scrollwrap', (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
            assert.ok(wider > 0 || !isPhone, `no table of ${path} is wider than the screen`);
        }
    });
    await test(`the search finds pages and functions ${name}`, async () => {
        await go('docs/which-pool.html');
        const pages = await results(page, 'circuit breaker', isPhone);
        await until('docs/pool.html among the results', async () => (await pages.listed()).includes('docs/pool.html'));
        await go('docs/which-pool.html');
        const functions = await results(page, 'cen_pool_take', isPhone);
        await until('cenote/pool.h as the first result', async () => (await functions.listed())[0] === 'reference/pool.html');
        await page.click('.md-search-result__item a');
        await until('the page of the result', () => page.url().includes('reference/pool.html'));
    });
    await test(`light and dark can be chosen, and are kept ${name}`, async () => {
        await go('docs/crew.html');
        assert.ok((await background(page)) > 200);
        await page.click('label[title=Dark]');
        await until('a dark page', async () => (await background(page)) < 90);
        await go('include/cenote/crew.h.html');
        assert.ok((await background(page)) < 90);
    });
    await test(`no error, and no request to another host ${name}`, async () => {
        assert.deepEqual(watch.wrong, []);
        assert.deepEqual([...watch.hosts], [new URL(address).host]);
    });
    await context.close();
}

const { server, address } = await serve(process.argv[2]);
const browser = await launch();
try {
    for (const screen of SCREENS) await onScreen(browser, address, screen);
} finally {
    await browser.close();
    server.kill();
}
process.exitCode = allPassed() ? 0 : 1;
