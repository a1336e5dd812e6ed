// SPDX-License-Identifier: MIT
// Charts and the numbers beside them.
import assert from 'node:assert/strict';
import { shop, page, showOrders, figure, nanoseconds, pixels } from './desk.mjs';
import { test, until } from './stage.mjs';

const picture = (index) => page.evaluate((which) => document.querySelectorAll('canvas.plot')[which].toDataURL(), index);

await test('charts move under load, and their lines are there', async () => {
    await shop.tell('clients 10');
    await showOrders();
    const before = await Promise.all([0, 1, 2, 3, 4].map(picture));
    await until(
        'all charts to move',
        async () => (await Promise.all([0, 1, 2, 3, 4].map(picture))).every((now, index) => now !== before[index]),
    );
    await until(
        'the lines',
        async () => (await pixels(0, '--held')) > 20 && (await pixels(1, '--p99')) > 10 && (await pixels(2, '--p50')) > 10,
    );
    await until('the maps', async () => (await pixels(3, '--heat-6')) > 10 && (await pixels(4, '--heat-6')) > 10);
});

// guarantees: page.numbers
await test('the numbers beside the charts are those that the process tells', async () => {
    await until(
        'times of takes and holds',
        async () => /s$/.test(await figure('hold p50')) && /s$/.test(await figure('wait p99')),
    );
    const component = await shop.component('orders');
    assert.equal(
        await page
            .locator('.card.wide .bar')
            .getAttribute('aria-label')
            .then((text) => /limit (\d+)$/.exec(text)[1]),
        String(component.metrics.max),
    );
    // Each is in a bucket that the process has, and in order; an order takes 5 ms at least.
    for (const [name, timing] of [
        ['wait', 'wait'],
        ['hold', 'use'],
    ]) {
        const { buckets, largest_ns } = (await shop.component('orders')).histograms[timing];
        const [half, most] = [nanoseconds(await figure(`${name} p50`)), nanoseconds(await figure(`${name} p99`))];
        for (const shown of [half, most].filter((ns) => ns > 0)) {
            assert.ok(
                buckets.some(([highest]) => shown <= highest * 1.01 && shown >= highest * (8 / 9) * 0.99),
                `${name}: no bucket has ${shown}`,
            );
        }
        assert.ok(
            half <= most && most <= largest_ns * 1.01 && (name === 'wait' || half >= 4.9e6),
            `${name}: ${half}, ${most}, ${largest_ns}`,
        );
    }
    assert.ok(Number(await figure('waiting')) <= 10);
});

// guarantees: page.numbers
await test('takes in a second are as many as the process counts', async () => {
    const taken = async () => (await shop.component('orders')).metrics.taken;
    const [first, began] = [await taken(), performance.now()];
    let [rate, shown] = [0, 0];
    const near = async () => {
        const seconds = (performance.now() - began) / 1000;
        if (seconds < 1.5) return false;
        rate = ((await taken()) - first) / seconds;
        shown = Number(/^([\d.]+)\/s$/.exec(await figure('takes'))[1]);
        return shown > rate / 2 && shown < rate * 2; // of the last ten seconds, in which there were fewer at first
    };
    await until('the rate', near).catch(() => assert.fail(`${shown} are shown, and there are ${rate}`));
});

await test('the cursor tells the past, by keys and by the pointer', async () => {
    const chart = page.getByRole('slider', { name: 'Hold time', exact: true });
    await chart.focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    assert.match(
        await chart.getAttribute('aria-valuetext'),
        /^2 s ago: p50 [\d.]+ ms, p90 [\d.]+ ms, p99 [\d.]+ ms, max [\d.]+ ms$/,
    );
    assert.equal(await page.locator('.when').first().innerText(), '2 s ago', 'all charts share it');
    await page.keyboard.press('Escape');
    assert.match(await chart.getAttribute('aria-valuetext'), /^now: /);
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width - 30, box.y + 40);
    await until('the pointer', async () => /s ago/.test(await page.locator('.when').first().innerText()));
    const map = page.getByRole('slider', { name: 'Distribution of hold times' });
    await map.focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowUp');
    assert.match(await map.getAttribute('aria-valuetext'), /ago: [\d.]+ [nµm]?s to [\d.]+ [nµm]?s \d+$/);
    await page.mouse.move(5, 5);
});
