// SPDX-License-Identifier: MIT
// Reloads the page if a part of it failed to load. The server closes idle connections, and a delayed browser may send a
// request on one that has just been closed. main.js resets the count.

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
