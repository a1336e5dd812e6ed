// SPDX-License-Identifier: MIT
// How the theme's search reads a query: a page must have all words, and a whole word counts more than a beginning. Words of a
// question are not required. The theme appends "*" to the last word.
{
    const OF_QUESTIONS = /^(a|an|and|are|can|do|does|for|how|i|in|is|it|my|of|on|or|that|the|to|what|when|where|which|why|with)$/i;

    window.__search = {
        transform(query) {
            const words = query.split(/\W+/).filter(Boolean);
            const required = words.map((word) => (words.length > 1 && OF_QUESTIONS.test(word) ? word : `+${word}`));
            return [...words, ...required].join(' ');
        },
    };
}
