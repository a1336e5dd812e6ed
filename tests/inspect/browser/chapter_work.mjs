// SPDX-License-Identifier: MIT
// Looking for a leak, pausing, resizing, reading events.
import assert from 'node:assert/strict';
import { shop, watch, page, show, showOrders, textOf, tab, figure, press, cells } from './desk.mjs';
import { test, until } from './stage.mjs';

// guarantees: page.leak
await test('a leak appears with its call site, and its backtrace opens', async () => {
    await shop.tell('clients 3');
    await shop.tell('leak');
    await showOrders();
    await tab(/Holders/);
    const row = page.locator('table[aria-label="Holders"] tbody', { hasText: 'charge_card' }).first();
    await until('the leak', async () => (await page.locator('h1 .badge', { hasText: '1 leak' }).count()) === 1);
    assert.ok(await row.isVisible(), 'the tab that was chosen is still chosen');
    assert.match(await row.innerText(), /tests\/inspect\/shop\.c:\d+/);
    assert.match((await cells('Holders', 3))[0], /charge_card|shop\.c/, 'the oldest comes first');
    assert.ok(await row.locator('.leak').isVisible());
    await row.locator('td').nth(1).click();
    assert.match(await row.locator('.trace').innerText(), /charge_card/);
    await row.locator('.disclose').press('Enter');
    assert.ok(!(await row.locator('.trace').isVisible()));
});

await test('a table is sorted by the button in its head', async () => {
    const head = page.locator('table[aria-label="Holders"] th', { hasText: 'holder' });
    await until('two holders', async () => (await cells('Holders', 2)).length >= 2);
    await head.getByRole('button').click();
    assert.equal(await head.getAttribute('aria-sort'), 'ascending');
    await until('the order', async () => {
        const holders = await cells('Holders', 2);
        return (
            holders.length >= 2 &&
            String(holders) === String([...holders].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })))
        );
    });
    await head.getByRole('button').click();
    assert.equal(await head.getAttribute('aria-sort'), 'descending');
    await shop.tell('mend');
});

await test('a pause is asked for, works, and takes then wait', async () => {
    await shop.tell('clients 6');
    await showOrders();
    await press('Pause');
    await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await shop.component('orders')).metrics.paused, 0, 'a question that was cancelled does nothing');
    await press('Pause');
    await page.locator('dialog').getByRole('button', { name: 'Pause' }).click();
    await until('the badge', async () => (await page.locator('h1 .badge', { hasText: 'paused' }).count()) === 1);
    const focus = await page.evaluate(() => document.activeElement.textContent.slice(0, 40));
    assert.equal(focus, 'Resume', 'the focus goes to what stands there now');
    await until('takes that wait', async () => (await shop.component('orders')).metrics.waiting >= 4);
    await until('waiters on the page', async () => Number(await figure('waiting')) >= 4);
    await tab(/Waiters/);
    await until('their rows', async () => (await cells('Waiters', 3)).some((where) => /shop\.c/.test(where)));
    await press('Resume');
    await page.locator('dialog').getByRole('button', { name: 'Resume' }).click();
    await until('the end of it', async () => (await page.locator('h1 .badge', { hasText: 'paused' }).count()) === 0);
    assert.equal((await shop.component('orders')).metrics.paused, 0);
});

await test('a new size works, and a wrong one is answered in the dialog and changes nothing', async () => {
    await press('Resize');
    const number = page.locator('dialog input');
    assert.equal(await number.inputValue(), '4');
    await watch.during(/400/, async () => {
        await number.fill('99999999');
        await number.press('Enter');
        await until('the error', async () => (await textOf('dialog .error')).length > 10);
    });
    assert.equal((await shop.component('orders')).metrics.max, 4);
    await number.fill('7');
    await number.press('Enter');
    await until('the limit', async () => /limit 7/.test(await textOf('.places')));
    assert.equal((await shop.component('orders')).metrics.max, 7);
    await until('the end of the dialog', async () => (await page.locator('dialog').count()) === 0);
});

await test('events pass a filter by text, level and kind, and can be held still', async () => {
    await show('#/events');
    await until('events', async () => (await page.locator('.event').count()) > 5);
    const all = await page.locator('.event').count();
    await page.getByRole('searchbox').fill('paused orders');
    await until('the filter', async () => (await page.locator('.event').count()) < all);
    const texts = await page.locator('.event').allInnerTexts();
    assert.ok(texts.length >= 1 && texts.every((text) => /paused/i.test(text) && /orders/.test(text)), texts.join('\n'));
    await page.getByRole('searchbox').fill('no such component ever');
    await until('nothing', async () => (await page.locator('.event').count()) === 0);
    assert.match(await textOf('.log .empty'), /no event matches/);
    await page.getByRole('searchbox').fill('');
    await page.getByLabel('Lowest level').selectOption('warning');
    await until('levels', async () =>
        (await page.locator('.event .level').allInnerTexts()).every((level) => /warning|error/.test(level)),
    );
    await page.getByLabel('Lowest level').selectOption('detail');
    await page.getByLabel('Kind').selectOption('supervisor');
    await until('kinds', async () => {
        const names = await page.locator('.event .of').allInnerTexts();
        return names.length > 0 && names.every((name) => /links|service/.test(name));
    });
    await press('Pause');
    const held = await page.locator('.event').count();
    await shop.tell('cut');
    await until('newer ones', async () => /[1-9]\d* newer/.test(await textOf('.filter .note')));
    assert.equal(await page.locator('.event').count(), held);
    await press('Continue');
    await until('them', async () => (await page.locator('.event').count()) > held);
});

await test('what came while the log was held still is counted, although no more than so many are kept', async () => {
    const note = await page.evaluate(async () => {
        const { Events, Log } = await import('./log.js');
        const one = { component: 1, time_ns: 1e18, level: 'notice', what: 'reloaded', component_kind: 'pool', component_name: 'p', text: '' };
        const some = (from, count) =>
            Array.from({ length: count }, (_, i) => ({ ...one, number: from + i }));
        const events = new Events(10);
        const log = new Log();
        events.add(some(0, 10), 0);
        log.update(events);
        log.toggle();
        events.add(some(10, 7), 0);
        log.update(events);
        return log.count.textContent;
    });
    assert.equal(note, '10 of 10 · 7 newer');
});
