// SPDX-License-Identifier: MIT
// Keys, contrast, colours, phones, motion.
import assert from 'node:assert/strict';
import { shop, open, page, show, showOrders, tab, pixels } from './desk.mjs';
import { test, until } from './stage.mjs';

// Presses Tab until what has the focus passes; every stop on the way must be visible as such.
async function tabTo(what, passes, most = 60) {
    for (let i = 0; i < most; i++) {
        await page.keyboard.press('Tab');
        const focus = await page.evaluate(() => {
            const element = document.activeElement;
            const style = getComputedStyle(element);
            const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
            return {
                text: element.textContent.trim(),
                role: element.getAttribute('role') ?? '',
                class: element.className,
                tag: element.tagName,
                ring,
            };
        });
        if (focus.tag !== 'BODY') assert.ok(focus.ring, `the focus on ${focus.tag} "${focus.text}" can be seen`);
        if (passes(focus)) return focus;
    }
    return assert.fail(`${what} is not reached by the Tab key`);
}

// guarantees: page.keys
await test('everything is reached by keys alone', async () => {
    await show('#/');
    await page.evaluate(() => document.activeElement.blur());
    await tabTo('the link to orders', ({ text, tag }) => tag === 'A' && text === 'orders');
    await page.keyboard.press('Enter');
    await until('the view', async () => (await page.locator('h1 bdi').textContent()) === 'orders');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1', 'the focus goes with the view');
    await tabTo('the tabs', ({ role }) => role === 'tab');
    await page.keyboard.press('ArrowRight');
    assert.equal(
        await page
            .locator('[role=tab][aria-selected=true]')
            .innerText()
            .then((text) => text.split(' ')[0]),
        'Holders',
    );
    await shop.tell('leak'); // one that stays as long as it takes to open it
    await until('it', async () =>
        /charge_card/.test(await page.locator('table[aria-label="Holders"] tbody').first().textContent()),
    );
    await tabTo('a holder', ({ class: name }) => name === 'disclose');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('.disclose[aria-expanded=true]').count(), 1);
    await shop.tell('mend');
    await tabTo('the controls', ({ text, tag }) => tag === 'BUTTON' && text === 'Evict idle');
    await page.keyboard.press('Enter');
    await until('the question', async () => (await page.locator('dialog[open]').count()) === 1);
    await page.keyboard.press('Escape');
    await until('its end', async () => (await page.locator('dialog').count()) === 0);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Evict idle', 'the focus comes back');
});

// The text with the least contrast to what is behind it. Large text needs less.
function leastContrast(where) {
    return where.evaluate(() => {
        const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
        const light = ([r, g, b]) => {
            const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
            return 0.2126 * x + 0.7152 * y + 0.0722 * z;
        };
        const behind = (element) => {
            for (let at = element; at; at = at.parentElement) {
                const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
                if (a > 0.99) return [r, g, b];
            }
            return [255, 255, 255];
        };
        let worst = { ratio: 99, text: '' };
        for (const element of document.querySelectorAll('body *')) {
            const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
            if (!own || !element.checkVisibility({ visibilityProperty: true }) || element.closest('.skip, .unseen, [hidden]'))
                continue;
            const [one, other] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
            const large = parseFloat(getComputedStyle(element).fontSize) >= 24;
            const ratio = ((one + 0.05) / (other + 0.05)) * (large ? 1.5 : 1);
            if (ratio < worst.ratio) worst = { ratio, text: `${element.className} "${element.textContent.slice(0, 40)}"` };
        }
        return worst;
    });
}

// guarantees: page.contrast
await test('texts have a contrast of 4.5 and more, in light and dark', async () => {
    const number = (await shop.component('orders')).number;
    for (const colorScheme of ['light', 'dark']) {
        const other = await open({ colorScheme });
        await until('the cards', async () => (await other.locator('article.card').count()) > 5);
        assert.equal(await other.evaluate(() => document.documentElement.dataset.theme), colorScheme);
        for (const hash of ['#/', `#/pool/${number}`, '#/events']) {
            await show(hash, other);
            await until('the view', async () => (await other.locator('.card, .event').count()) > 0);
            const worst = await leastContrast(other);
            assert.ok(worst.ratio >= 4.5, `${colorScheme} ${hash}: ${worst.ratio.toFixed(2)} at ${worst.text}`);
        }
        await other.context().close();
    }
});

await test('colours can be chosen, and charts follow', async () => {
    await showOrders();
    const button = page.locator('#theme');
    await until('a line', async () => (await pixels(0, '--held')) > 20);
    await button.click();
    assert.equal(await button.getAttribute('data-choice'), 'light');
    await button.click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(13, 20, 25)');
    await until('the line in its dark colour', async () => (await pixels(0, '--held')) > 20);
    await button.click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
});

// guarantees: page.phone
await test('on a phone no view is wider than the screen', async () => {
    const phone = await open({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    await until('the cards', async () => (await phone.locator('article.card').count()) > 5);
    const hashes = ['#/', '#/events', ...(await shop.components()).map(({ kind, number }) => `#/${kind}/${number}`)];
    for (const hash of hashes) {
        await show(hash, phone);
        const widths = await phone.evaluate(() =>
            [null, ...document.querySelectorAll('[role=tab]')].map((each) => {
                each?.click();
                return document.documentElement.scrollWidth;
            }),
        );
        assert.ok(Math.max(...widths) <= 360, `${hash} is ${widths} wide`);
    }
    await phone.context().close();
});

await test('on a phone what is in a cell stands together', async () => {
    const phone = await open({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    const { kind, number } = await shop.component('search');
    await until('the cards', async () => (await phone.locator('article.card').count()) > 5);
    await show(`#/${kind}/${number}`, phone);
    const state = phone.locator('td[data-label="state"]').first();
    await until('a state', () => state.isVisible());
    const apart = await state.evaluate((cell) => {
        const [first, second] = [...cell.children].map((child) => child.getBoundingClientRect());
        return { between: second.left - first.right, behind: cell.getBoundingClientRect().right - second.right };
    });
    assert.ok(apart.between < 16 && apart.behind < 16, `${JSON.stringify(apart)} pixels`);
    await phone.context().close();
});

await test('who wants no motion gets none', async () => {
    const still = await open({ reducedMotion: 'reduce' });
    await until('a bar', async () => (await still.locator('.part').count()) > 0);
    assert.equal(
        await still
            .locator('.part')
            .first()
            .evaluate((part) => getComputedStyle(part).transitionDuration),
        '0s',
    );
    await still.context().close();
});
