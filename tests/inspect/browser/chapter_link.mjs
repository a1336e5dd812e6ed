// SPDX-License-Identifier: MIT
// The link to the process: hidden pages, tokens, an end and a new beginning.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { browser, shop, watch, hosts, open, page, show, textOf } from './desk.mjs';
import { Shop, TOKEN, Watch, test, until } from './stage.mjs';

await test('a page that is not seen asks nothing', async () => {
    const seen = (hidden) =>
        page.evaluate((value) => {
            Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
            document.dispatchEvent(new Event('visibilitychange'));
        }, hidden);
    await seen(true);
    await watch.silence(2500); // a page that is seen asks every second
    const before = watch.requests;
    await seen(false);
    await until('requests', () => watch.requests > before);
});

// guarantees: page.token
await test('a process with a token asks for it, and the address does not keep it', async () => {
    const locked = await Shop.start('locked', '127.0.0.1:0', 'a-token-of-some-length');
    hosts.add(new URL(locked.address).host);
    await watch.during(/401/, async () => {
        const visitor = await open({}, '', locked.address);
        await until('the question', () => visitor.locator('#token').isVisible());
        await visitor.locator('#token').fill('a-token-of-some-length');
        await visitor.keyboard.press('Enter');
        await until('the cards', async () => (await visitor.locator('article.card').count()) > 5);
        await visitor.context().close();
    });
    const guest = await open({}, '?token=a-token-of-some-length', locked.address);
    await until('the cards', async () => (await guest.locator('article.card').count()) > 5);
    assert.ok(!guest.url().includes('token'));
    await watch.during(/ERR_ABORTED/, () => guest.reload()); // a look may be under way, which ends with the page
    await until('the cards again', async () => (await guest.locator('article.card').count()) > 5);
    await guest.context().close();
    assert.equal(await locked.end(), 0);
});

// guarantees: page.read
await test('a program that may only be looked at has no controls, and shows who forgot what', async () => {
    const example = spawn(process.env.CENOTE_INSPECTED, ['127.0.0.1:0', '--seconds', '600'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = new Promise((done) => example.on('exit', done));
    const { value: address } = await createInterface({ input: example.stdout })[Symbol.asyncIterator]().next();
    hosts.add(new URL(address).host);
    const visitor = await open({}, '#/', address);
    await until('the leak', async () =>
        /an object has been held for .*, taken at .*inspected\.c:\d+/.test(await visitor.locator('.attention').innerText()),
    );
    await visitor.locator('.attention').getByRole('link', { name: 'reports' }).click();
    await until('the view', async () => (await visitor.locator('h1 .badge', { hasText: 'leak' }).count()) === 1);
    assert.ok(!(await visitor.locator('.controls').isVisible()));
    await visitor.context().close();
    example.kill('SIGTERM');
    assert.equal(await ended, 0);
});

await test('a page of which a part did not come loads again by itself, and says so if that does not help', async () => {
    const context = await browser.newContext();
    const visitor = await watch.over(await context.newPage());
    let [asked, refusals] = [0, 1];
    await visitor.route('**/numbers.js', (route) => (asked++ < refusals ? route.abort('connectionreset') : route.continue()));
    await watch.during(/ERR_CONNECTION_RESET|ERR_ABORTED/, async () => {
        await visitor.goto(`${shop.address}?token=${TOKEN}`);
        await until('the cards', async () => (await visitor.locator('article.card').count()) > 5);
        assert.equal(asked, 2);
        refusals = Infinity;
        await visitor.reload();
        await until('the word', async () => /did not load/.test(await visitor.locator('#hello').innerText()));
        assert.equal(asked, 2 + 6);
    });
    await context.close();
});

await test('a request that is given up too soon is noted by these tests', async () => {
    const own = new Watch();
    const context = await browser.newContext();
    const visitor = await own.over(await context.newPage());
    await visitor.goto(`${shop.address}?token=${TOKEN}`);
    await until('the cards', async () => (await visitor.locator('article.card').count()) > 5);
    await visitor.evaluate(async () => {
        const gives = new AbortController();
        const asked = fetch('api/components?given-up', { signal: gives.signal }).catch(() => {});
        gives.abort();
        await asked;
    });
    await until('the note', () => own.wrong.some((text) => /given-up net::ERR_ABORTED/.test(text)));
    await context.close();
});

await test('another process in the place of the last one is seen at the first look', async () => {
    const first = await Shop.start('first');
    hosts.add(new URL(first.address).host);
    const visitor = await open({}, '#/', first.address);
    const title = () => visitor.locator('#title').innerText();
    await until('the first', async () => (await title()) === 'first');
    const seen = (hidden) =>
        visitor.evaluate((value) => {
            Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
            document.dispatchEvent(new Event('visibilitychange'));
        }, hidden);
    await seen(true); // it does not see the end of the one, nor the beginning of the other
    await watch.silence(500);
    await watch.during(/ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET|ERR_ABORTED/, async () => {
        assert.equal(await first.end(), 0);
        const second = await Shop.start('second', new URL(first.address).host);
        await visitor.evaluate(() => {
            const real = window.fetch;
            window.titlesAtLooks = [];
            window.fetch = (path, ...more) => {
                if (/api\/components/.test(path)) window.titlesAtLooks.push(document.getElementById('title').innerText);
                return real(path, ...more);
            };
        });
        await seen(false);
        await until('the second', async () => (await title()) === 'second');
        const looks = await visitor.evaluate(() => window.titlesAtLooks.filter((shown) => shown === 'first').length);
        assert.ok(looks >= 1 && looks <= 2, `after ${looks} looks`);
        assert.match(await visitor.locator('#said').innerText(), /A different process/);
        await visitor.context().close();
        assert.equal(await second.end(), 0);
    });
});

await test('what the page cannot draw is told as its own defect, and not as silence of the process', async () => {
    const visitor = await open();
    const banner = visitor.locator('#defect');
    await until('the cards', async () => (await visitor.locator('article.card').count()) > 5);
    assert.ok(!(await banner.isVisible()));
    await watch.during(/exception|not a function/, async () => {
        await visitor.route(/api\/components/, async (route) => {
            const answer = await route.fetch();
            const look = await answer.json();
            look.components.find(({ name }) => name === 'orders').description.holders = 'nonsense';
            await route.fulfill({ response: answer, json: look });
        });
        await until('the banner', () => banner.isVisible());
        assert.equal(await visitor.locator('#link').innerText(), 'live');
        assert.ok(!(await visitor.locator('#gone').isVisible()));
        assert.match(await banner.innerText(), /bug in the page/);
        await visitor.unroute(/api\/components/);
        await until('its end', async () => !(await banner.isVisible()));
    });
    await visitor.context().close();
});

// guarantees: page.gone
await test('a process that ends is shown as gone, and one that comes back is seen', async () => {
    await show('#/');
    await watch.during(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET|ERR_ABORTED/, async () => {
        assert.equal(await shop.end(), 0);
        await until('the banner', () => page.locator('#gone').isVisible());
        assert.match(await textOf('#gone'), /does not respond.*last known data.*Next attempt in \d+ s/s);
        assert.equal(await textOf('#link'), 'no response');
        assert.ok((await page.locator('article.card').count()) > 5, 'the last numbers stay');
        // Its first looks are cut off half-way: that it is another process must not be forgotten by that.
        let cut = false;
        await page.route(/api\/components/, (route) => {
            cut = true;
            return route.abort('connectionreset');
        });
        const again = await Shop.start('again', new URL(shop.address).host);
        await page.getByRole('button', { name: 'Retry now' }).click();
        await until('the cut', () => cut);
        await until('the banner again', () => page.locator('#gone').isVisible());
        await page.unroute(/api\/components/);
        await until('the new one', async () => (await textOf('#title')) === 'again');
        await until('the end of the banner', async () => !(await page.locator('#gone').isVisible()));
        assert.match(await textOf('#said'), /A different process/);
        assert.equal(await again.end(), 0);
    });
});
