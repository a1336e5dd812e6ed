// SPDX-License-Identifier: MIT
// Loads the page again when a part of it did not come. The server ends idle connections, and a browser that was held up may ask on
// one that has just ended. main.js starts the count again.

(() => {
    const KEY = 'cenote-reloads';
    const RELOADS_MOST = 5;
    const AFTER_MS = 500;
    let reloading = false;

    const failed = () => {
        const count = Number(sessionStorage.getItem(KEY) ?? 0);
        if (count >= RELOADS_MOST) {
            document.getElementById('hello').textContent = 'A part of this page did not load. Reload the page to try again.';
            return;
        }
        reloading = true;
        sessionStorage.setItem(KEY, count + 1);
        setTimeout(() => location.reload(), AFTER_MS);
    };

    addEventListener(
        'error',
        ({ target }) => {
            const part = target instanceof HTMLScriptElement || target instanceof HTMLLinkElement;
            if (part && !reloading) failed();
        },
        true,
    );
})();
