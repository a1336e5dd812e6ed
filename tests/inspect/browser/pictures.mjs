// SPDX-License-Identifier: MIT
// The pictures of docs/dashboard.md: a shop under a load that changes, with a leak, and a server that is away.
import { Shop, TOKEN, launch, until } from './stage.mjs';

const shop = await Shop.start('Corner shop', '127.0.0.1:0', TOKEN, 'thumbnails');
const browser = await launch();
const folder = process.env.CENOTE_PICTURES;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

async function open(options, hash) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    await page.goto(`${shop.address}?token=${TOKEN}#${hash}`);
    await until('the page', async () => (await page.locator('.card').count()) > 0);
    return page;
}

const { number } = await shop.component('orders');
const light = await open({ viewport: { width: 1280, height: 1010 }, colorScheme: 'light' }, '/');
const dark = await open({ viewport: { width: 1200, height: 1190 }, colorScheme: 'dark' }, `/pool/${number}`);
const phone = await open(
    { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true, colorScheme: 'light' },
    '/',
);

const load = [
    [3, 12],
    [5, 12],
    [12, 14],
    [9, 10],
    [14, 15],
    [4, 20],
    [11, 25],
];
for (const [clients, seconds] of load) {
    console.log(`${clients} clients for ${seconds} s`);
    await shop.tell(`clients ${clients}`);
    if (clients === 4) await shop.tell('leak');
    if (clients === 9) for (let i = 0; i < 3; i++) await shop.tell('cut');
    await wait(seconds * 1000);
}

await light.screenshot({ path: `${folder}/dashboard-light.png` });
await dark.getByRole('slider', { name: 'Wait time', exact: true }).focus();
for (let i = 0; i < 24; i++) await dark.keyboard.press('ArrowLeft');
await dark.screenshot({ path: `${folder}/dashboard-dark.png` });
await phone.screenshot({ path: `${folder}/dashboard-phone.png` });
await browser.close();
process.exit(await shop.end());
