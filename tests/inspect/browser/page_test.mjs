// SPDX-License-Identifier: MIT
// The page, in a real browser, of a real process: chapter by chapter, those that are named. `run` starts it.
import assert from 'node:assert/strict';
import { browser, hosts, page, shop, watch } from './desk.mjs';
import { allPassed, test } from './stage.mjs';

for (const chapter of process.argv.slice(2)) await import(`./chapter_${chapter}.mjs`);

await page.context().close();
await browser.close();

// guarantees: page.alone
await test(`nothing went wrong in the browser in ${process.argv.slice(2).join(' and ')}, and nobody else was asked`, async () => {
    assert.equal(await shop.end(), 0);
    assert.deepEqual(watch.wrong, []);
    assert.deepEqual([...watch.hosts].sort(), [...hosts].sort());
});

process.exit(allPassed() ? 0 : 1);
