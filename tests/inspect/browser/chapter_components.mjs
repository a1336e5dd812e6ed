// SPDX-License-Identifier: MIT
// What is there, and that all of it can be seen.
import assert from 'node:assert/strict';
import { shop, watch, hosts, open, page, show, textOf, figure, nanoseconds } from './desk.mjs';
import { Shop, TOKEN, test, until } from './stage.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>';

await test('every pool has a card on the overview, with its limit and who holds', async () => {
    const pools = (await shop.components()).filter(({ kind }) => kind === 'pool');
    assert.equal(pools.length, 4);
    await until('the cards', async () => (await page.locator('article.card:not(.small)').count()) === pools.length);
    for (const pool of pools) {
        const card = page.locator('article.card', { has: page.getByRole('link', { name: pool.name, exact: true }) });
        assert.equal(await card.locator('.limit').innerText(), `limit ${pool.metrics.max}`);
        assert.match(await card.locator('.bar').getAttribute('aria-label'), new RegExp(`limit ${pool.metrics.max}$`));
        assert.match(await card.locator('.places').innerText(), /\d+ in use/);
    }
    assert.match(await textOf('#process'), /process \d+, up /);
    assert.equal(await textOf('#title'), 'A <b>shop</b>');
});

await test('a pool whose server is away is what the overview begins with', async () => {
    await until('the breaker', async () => /no object can be opened/.test(await textOf('.attention li')));
    assert.match(await textOf('.attention li'), /^reports/);
});

// guarantees: page.twins
await test('two of one name are told apart by their numbers, wherever they are named', async () => {
    const shops = await Shop.start('twins', '127.0.0.1:0', TOKEN, 'orders');
    hosts.add(new URL(shops.address).host);
    const numbers = (await shops.components()).filter(({ name }) => name === 'orders').map(({ number }) => number);
    assert.equal(numbers.length, 2);
    const visitor = await open({}, '#/', shops.address);
    const named = (place) =>
        visitor.locator(place).evaluateAll((all) =>
            all.map((name) => {
                const { content } = getComputedStyle(name, '::after');
                return `${name.textContent}|${content === 'none' ? '' : content.replaceAll(/"|\s/g, '')}`;
            }),
        );
    const expected = (number) => (text) => text === `orders|#${number}`;
    await until('the cards', async () => (await visitor.locator('article.card').count()) > 5);
    const cards = await named('article.card h3 bdi');
    for (const number of numbers) assert.equal(cards.filter(expected(number)).length, 1, cards.join());
    assert.ok(cards.includes('carts|'), `who is alone has none: ${cards}`);
    await show(`#/pool/${numbers[1]}`, visitor);
    assert.ok((await named('main h1 bdi')).every(expected(numbers[1])));
    await visitor.getByRole('button', { name: 'Resize', exact: true }).click();
    assert.ok((await named('dialog bdi')).every(expected(numbers[1])));
    await visitor.context().close();
    assert.equal(await shops.end(), 0);
});

// guarantees: page.markup
await test('a name that is markup is shown as text', async () => {
    await until('the name', async () => (await page.getByRole('link', { name: HOSTILE, exact: true }).count()) === 1);
    assert.equal(await page.locator('main img, main b, #title b').count(), 0);
});

await test('every component has a view of its own, by its address', async () => {
    const components = await shop.components();
    assert.ok(new Set(components.map(({ kind }) => kind)).size >= 7, 'the shop has components of seven kinds');
    for (const { kind, name, number } of components) {
        await show(`#/${kind}/${number}`);
        assert.equal(await page.locator('main h1 bdi').textContent(), name);
        assert.ok((await page.locator('main canvas.plot').count()) >= 1, `${kind} ${name} has a chart`);
        for (const each of await page.getByRole('tab').all()) {
            await each.click();
            assert.ok(await page.getByRole('tabpanel').isVisible());
        }
    }
    await show('#/pool/99999');
    assert.match(await textOf('main'), /no component with the number 99999/);
});

await test('crews, routers and supervisors show workers, members and children', async () => {
    const components = await shop.components();
    const numberOf = (wanted) => components.find(({ kind, name }) => kind === wanted[0] && name === wanted[1]).number;
    await show(`#/crew/${numberOf(['crew', 'background'])}`);
    await until('three workers', async () => (await page.locator('.tile').count()) >= 3);
    await show(`#/router/${numberOf(['router', 'search'])}`);
    await until('three members', async () => (await page.locator('table[aria-label="Members"] tbody').count()) === 3);
    assert.equal(await page.locator('tbody', { hasText: 'search-c:9200' }).locator('.state').innerText(), 'down');
    await until('how long uses take', async () => {
        const [half, most] = [nanoseconds(await figure('latency p50')), nanoseconds(await figure('latency p99'))];
        return half >= 1e6 && most >= half; // each sleeps for a millisecond
    });
    await show('#/');
    const nested = page.locator('.tree > li > ul > li', { hasText: 'links' });
    await until('the tree', async () => (await nested.locator('ul > li').count()) === 2);
    await shop.tell('cut');
    await until('a restart', async () => /1 restart/.test(await nested.locator('ul > li', { hasText: 'west' }).innerText()));
});

await test('a look has the page laid out a few times, however many cards there are', async () => {
    await show('#/');
    await page.emulateMedia({ reducedMotion: 'reduce' }); // a bar that grows is laid out in every frame
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const layouts = async () => {
        const { metrics } = await session.send('Performance.getMetrics');
        return metrics.find(({ name }) => name === 'LayoutCount').value;
    };
    const shown = watch.looks;
    await until('the new view has been drawn twice', () => watch.looks >= shown + 2); // each card is measured when it comes
    const [from, before] = [watch.looks, await layouts()];
    await until('two looks', () => watch.looks >= from + 2);
    const each = ((await layouts()) - before) / (watch.looks - from);
    await session.detach();
    await page.emulateMedia({ reducedMotion: null });
    assert.ok(each <= 4, `${each} times a look`);
});
