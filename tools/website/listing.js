// SPDX-License-Identifier: MIT
// The pages of the site remember whether the reader chose light or dark; a file is shown likewise.
{
    const root = new URL(document.currentScript.dataset.root || './', location).pathname;
    try {
        const { scheme } = JSON.parse(localStorage.getItem(`${root}.__palette`)).color;
        document.documentElement.dataset.scheme = scheme;
    } catch {
        // Nothing was chosen.
    }
}
