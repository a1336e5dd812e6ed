// SPDX-License-Identifier: MIT
// One shop and one page for the tests of all chapters, and how they find their way in it.
import { HANG_MS, STALE_SOCKET, Shop, TOKEN, Watch, launch, until } from './stage.mjs';

const WIDE = { width: 1280, height: 900 };

export const shop = await Shop.start('A <b>shop</b>');
export const browser = await launch();
export const watch = new Watch();
export const hosts = new Set([new URL(shop.address).host]);

// A view, '#/...', is opened with the token. Any other text is appended to the address as it is.
export async function open(options = {}, hash = '#/', address = shop.address) {
    const context = await browser.newContext({ viewport: WIDE, colorScheme: 'light', ...options });
    context.setDefaultTimeout(HANG_MS);
    const page = await watch.over(await context.newPage());
    await visit(page, address + (hash.startsWith('#') ? `?token=${TOKEN}` : '') + hash);
    return page;
}

// A stale socket is the browser's affair: whoever sits before it presses reload, once for each that it had.
async function visit(page, address, stale = 3) {
    try {
        await page.goto(address);
    } catch (error) {
        if (stale === 0 || !STALE_SOCKET.test(error.message)) throw error;
        await visit(page, address, stale - 1);
    }
}

export const page = await open();

export async function show(hash, where = page) {
    await where.evaluate((to) => {
        location.hash = to;
    }, hash);
    await until(`the view of ${hash}`, () => where.evaluate((to) => document.getElementById('main').dataset.view === to, hash));
}

export async function showOrders() {
    const { number } = await shop.component('orders');
    await show('#/');
    await show(`#/pool/${number}`);
    return number;
}

export const textOf = (place) => page.locator(place).first().innerText();
export const tab = (name) => page.getByRole('tab', { name }).click();

// A figure of the view by its name: "wait p50".
export async function figure(name) {
    return page.evaluate((wanted) => {
        const terms = [...document.querySelectorAll('main .card.wide .figures dt')];
        return terms.find((term) => term.textContent === wanted)?.nextSibling.textContent ?? null;
    }, name);
}

// "5.00 ms" in nanoseconds.
export function nanoseconds(text) {
    const [value, unit] = text.split(' ');
    return text === '0' ? 0 : Number(value) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit];
}

export const press = (name) => page.getByRole('button', { name, exact: true }).click();

// What stands in a column of a table, row by row.
export const cells = (table, column) =>
    page.locator(`table[aria-label="${table}"] tbody > tr:first-child > :nth-child(${column})`).allInnerTexts();

// How many pixels of a canvas have about the colour of that name.
export function pixels(index, name) {
    return page.evaluate(
        ([which, variable]) => {
            const canvas = document.querySelectorAll('canvas.plot')[which];
            const wanted = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
            const [red, green, blue] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
            const copy = Object.assign(document.createElement('canvas'), {
                width: canvas.width,
                height: canvas.height,
            }).getContext('2d');
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) {
                if (
                    data[i + 3] > 200 &&
                    Math.abs(data[i] - red) + Math.abs(data[i + 1] - green) + Math.abs(data[i + 2] - blue) < 24
                )
                    count++;
            }
            return count;
        },
        [index, name],
    );
}
