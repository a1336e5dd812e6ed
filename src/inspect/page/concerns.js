// SPDX-License-Identifier: MIT
// The problems of a component, in a few words. Pure functions, like numbers.js.

import { timeText } from './numbers.js';

function plural(count, one, many) {
    return `${count} ${count === 1 ? one : many}`;
}

// Objects held for longer than the pool's leak limit allows, the oldest first.
export function leaksOf(component) {
    const limit = component.description?.leak_after_ns ?? 0;
    const leaks = limit > 0 ? (component.description.holders ?? []).filter((holder) => holder.held_ns >= limit) : [];
    return leaks.sort((a, b) => b.held_ns - a.held_ns);
}

export function breakerOf(component) {
    return component.description?.breaker ?? ['closed', 'open', 'half-open'][component.metrics.breaker ?? 0] ?? 'closed';
}

// A pool is exhausted if more takes wait than objects are idle. An object that was just given back is idle until the
// first waiter has run, which happens several times a second, so a few idle objects do not mean that the pool has
// recovered. A paused pool has idle objects that it does not lend.
function isUsedUp({ metrics: r }) {
    const idle = r.idle ?? 0;
    return r.waiting > idle && r.held > 0 && r.held + idle >= r.max && !(idle > 0 && r.paused);
}

// Problems that the numbers of a pool do not show, by the cause in its description.
const BY_CAUSE = {
    leak: 'leak suspected',
    opening_failed: 'opens fail',
    no_helper: 'no helper thread',
    health_check: 'health check slow',
};

function ofPool(component) {
    const r = component.metrics;
    const all = [];
    const breaker = breakerOf(component);
    if (breaker === 'open') all.push({ level: 'error', text: 'breaker open' });
    if (breaker === 'half-open') all.push({ level: 'warning', text: 'breaker half-open' });
    const leaks = leaksOf(component).length;
    const cause = BY_CAUSE[component.description?.cause];
    if (leaks > 0) all.push({ level: 'warning', text: plural(leaks, 'leak', 'leaks') });
    else if (cause) all.push({ level: 'warning', text: cause });
    if (isUsedUp(component)) all.push({ level: 'warning', text: 'exhausted' });
    if (r.shedding) all.push({ level: 'warning', text: 'shedding load' });
    if (r.is_closed) all.push({ level: 'notice', text: 'closed' });
    if (r.paused) all.push({ level: 'notice', text: 'paused' });
    if (r.revoked > 0) all.push({ level: 'notice', text: `${r.revoked} revoked` });
    return all;
}

function ofCrew({ metrics: r }) {
    const all = [];
    if (r.blocked > 0) all.push({ level: 'notice', text: `${r.blocked} blocked` });
    if (r.queued > 0 && r.idle === 0 && r.queued > 10 * (r.workers || 1)) all.push({ level: 'warning', text: 'falling behind' });
    return all;
}

function ofRouter({ metrics: r }) {
    const all = [];
    if (r.down > 0) all.push({ level: r.up > 0 ? 'warning' : 'error', text: `${r.down} down` });
    if (r.ejected > 0) all.push({ level: 'warning', text: `${r.ejected} ejected` });
    if (r.draining > 0) all.push({ level: 'notice', text: `${r.draining} draining` });
    return all;
}

function ofSupervisor({ metrics: r }) {
    const all = [];
    if (r.down > 0) all.push({ level: 'warning', text: `${r.down} down` });
    if (r.waiting > 0) all.push({ level: 'notice', text: `${r.waiting} to be restarted` });
    if (r.abandoned > 0) all.push({ level: 'error', text: `${r.abandoned} abandoned` });
    return all;
}

const OF = { pool: ofPool, crew: ofCrew, router: ofRouter, mux_pool: ofRouter, supervisor: ofSupervisor };

export function concernsOf(component) {
    return OF[component.kind]?.(component) ?? [];
}

function ofPoolInWords(component) {
    const r = component.metrics;
    const oldest = leaksOf(component)[0];
    const breaker = breakerOf(component);
    if (breaker !== 'closed') {
        const cause = component.description?.last_error ? `: ${component.description.last_error.replace(`pool "${component.name}": `, '')}` : '';
        const what = breaker === 'open' ? 'no object can be opened at the moment' : 'one trial open is allowed';
        return what + cause;
    }
    if (oldest)
        return `an object has been held for ${timeText(oldest.held_ns)}${oldest.where ? `, taken at ${oldest.where}` : ''}`;
    if (isUsedUp(component)) {
        const all = r.held >= r.max ? `all objects (limit ${r.max}) are in use` : `all objects (limit ${r.max}) are in use or about to be`;
        return `${all}, and ${plural(r.waiting, 'take waits', 'takes wait')}`;
    }
    return '';
}

function ofRouterInWords({ metrics: r }) {
    const members = r.members ?? r.connections;
    if (!(r.down > 0) || members === undefined) return '';
    return `${r.down} of ${plural(members, 'member', 'members')} ${r.down === 1 ? 'is' : 'are'} down`;
}

const IN_WORDS = { pool: ofPoolInWords, router: ofRouterInWords, mux_pool: ofRouterInWords };

// The worst problem as a sentence.
export function sentenceOf(component) {
    const concerns = concernsOf(component).map(({ text }) => text);
    return IN_WORDS[component.kind]?.(component) || concerns.join(', ');
}
