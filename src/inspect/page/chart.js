// SPDX-License-Identifier: MIT
// Charts of the last five minutes on a canvas: line charts with axes, and small ones without axes for cards. The heat
// map is in heat.js.
//
// All charts of a view share a cursor: a number of seconds ago. It follows the pointer, a finger, or the arrow keys of
// the focused chart. For screen readers a chart is a slider whose value text has the data at the cursor.

import { el, setText, setAttribute } from './dom.js';
import { colour } from './theme.js';
import { timeText, tickText, countText, logRange, logTicks, wholeTicks } from './numbers.js';

const SPANS = [60, 120, 300]; // seconds that a chart shows: the shortest span that covers all samples
const GAP_NS = 4e9; // a longer time between samples leaves a gap in the line
const FONT = '11px system-ui, sans-serif';

// ---- Cursor ---------------------------------------------------------------------------

export class Cursor {
    constructor() {
        this.ago = null; // seconds, or null: now
        this.byKeys = false; // keyboard mode: a pointer at rest does not move the cursor
        this.charts = new Set();
    }

    move(ago) {
        const inside = ago === null ? null : Math.max(0, Math.min(SPANS[SPANS.length - 1], ago));
        if (inside === this.ago) return;
        this.ago = inside;
        for (const chart of this.charts) chart.draw();
    }
}

function agoText(ago) {
    if (ago === null || ago < 0.5) return 'now';
    const seconds = Math.round(ago);
    return seconds < 60 ? `${seconds} s ago` : `${Math.floor(seconds / 60)} min ${seconds % 60} s ago`;
}

export function spanOf(samples, now_ns) {
    const age = samples.length > 0 ? (now_ns - samples[0].at_ns) / 1e9 : 0;
    return SPANS.find((span) => age <= span) ?? SPANS[SPANS.length - 1];
}

function axisText(ago) {
    if (ago === 0) return 'now';
    return ago % 60 === 0 ? `−${ago / 60} min` : `−${Math.round(ago)} s`;
}

// ---- Common to all charts -----------------------------------------------------------------

// Uses the size that the observer reported. Reading it from the element would force a layout of the page for each
// chart.
export function fit(canvas) {
    const scale = Math.min(3, window.devicePixelRatio || 1);
    const [width, height] = canvas.observed ?? [0, 0];
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
    }
    const pen = canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = FONT;
    return { pen, width, height };
}

const resized = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
        target.observed = [Math.round(contentRect.width), Math.round(contentRect.height)];
        target.redraw?.();
    }
});

export class Chart {
    constructor({ title, note, cursor, tall }) {
        this.title = title;
        this.cursor = cursor;
        this.samples = [];
        this.now_ns = 0;
        this.span = SPANS[0];
        this.canvas = el('canvas', {
            class: tall ? 'plot tall' : 'plot',
            tabindex: '0',
            role: 'slider',
            'aria-label': title,
            'aria-orientation': 'horizontal',
            'aria-valuemin': -SPANS[0],
            'aria-valuemax': 0,
            'aria-valuenow': 0,
        });
        this.when = el('span', { class: 'when', text: 'now' });
        this.readout = el('dl', { class: 'readout' });
        this.element = el(
            'figure',
            { class: 'chart' },
            el(
                'figcaption',
                {},
                el('span', { class: 'chart-title', text: title }),
                note ? el('span', { class: 'chart-note', text: note }) : null,
                this.when,
            ),
            this.canvas,
            this.readout,
        );
        this.canvas.redraw = () => this.draw();
        resized.observe(this.canvas);
        cursor.charts.add(this);
        this.listen();
    }

    listen() {
        const at = (event) => {
            if (this.cursor.byKeys && event.movementX === 0 && event.movementY === 0) return; // the page moved below a pointer at rest
            const box = this.canvas.getBoundingClientRect();
            this.cursor.byKeys = false;
            this.pointed(event.clientY - box.top);
            this.cursor.move(this.agoAt(event.clientX - box.left));
            this.draw();
        };
        const leave = () => {
            if (!this.cursor.byKeys) this.cursor.move(null);
        };
        this.canvas.addEventListener('pointermove', at);
        this.canvas.addEventListener('pointerdown', at);
        this.canvas.addEventListener('pointerleave', leave);
        this.canvas.addEventListener('blur', () => {
            this.cursor.byKeys = false;
            this.cursor.move(null);
        });
        this.canvas.addEventListener('keydown', (event) => this.key(event));
    }

    key(event) {
        const step = event.shiftKey ? 10 : 1;
        const ago = Math.min(this.span, this.cursor.ago ?? 0);
        const moves = {
            ArrowLeft: ago + step,
            ArrowRight: ago - step,
            PageUp: ago + 30,
            PageDown: ago - 30,
            Home: this.span,
            End: 0,
            Escape: null,
        };
        if (!(event.key in moves) && !this.keyUpDown(event.key)) return;
        event.preventDefault();
        this.cursor.byKeys = event.key !== 'Escape';
        if (event.key in moves) this.cursor.move(moves[event.key]);
        this.draw();
    }

    pointed() {}

    keyUpDown() {
        return false;
    }

    // Returns the plot's rectangle inside the canvas.
    frame(width, height) {
        return { left: 52, right: width - 10, top: 8, bottom: height - 20 };
    }

    agoAt(x) {
        const { left, right } = this.frame(this.canvas.clientWidth, this.canvas.clientHeight);
        return Math.min(this.span, ((right - x) / (right - left)) * this.span);
    }

    x(frame, at_ns) {
        return frame.right - ((this.now_ns - at_ns) / (this.span * 1e9)) * (frame.right - frame.left);
    }

    // Returns the sample at the cursor, or the last one; null if there is none within GAP_NS.
    sampleAtCursor() {
        const wanted = this.now_ns - (this.cursor.ago ?? 0) * 1e9;
        let best = null;
        for (const sample of this.samples) {
            if (!best || Math.abs(sample.at_ns - wanted) < Math.abs(best.at_ns - wanted)) best = sample;
        }
        return best && Math.abs(best.at_ns - wanted) < GAP_NS ? best : null;
    }

    show(samples, now_ns) {
        this.samples = samples;
        this.now_ns = now_ns;
        this.span = spanOf(samples, now_ns);
        setAttribute(this.canvas, 'aria-valuemin', -this.span);
        this.draw();
    }

    drawTimeAxis(pen, frame) {
        pen.fillStyle = colour('--muted');
        pen.textBaseline = 'top';
        const step = this.span / (frame.right - frame.left < 320 && this.span > 60 ? 2 : this.span > 120 ? 5 : 4);
        for (let ago = 0; ago <= this.span + 1e-9; ago += step) {
            const x = frame.right - (ago / this.span) * (frame.right - frame.left);
            pen.textAlign = ago === 0 ? 'right' : ago > this.span - 1 ? 'left' : 'center';
            pen.fillText(axisText(ago), x, frame.bottom + 6);
        }
    }

    drawRow(pen, frame, y, text) {
        pen.strokeStyle = colour('--grid');
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(frame.left, Math.round(y) + 0.5);
        pen.lineTo(frame.right, Math.round(y) + 0.5);
        pen.stroke();
        pen.fillStyle = colour('--muted');
        pen.textAlign = 'right';
        pen.textBaseline = 'middle';
        pen.fillText(text, frame.left - 6, y);
    }

    drawCursor(pen, frame) {
        if (this.cursor.ago === null) return;
        const x = Math.round(frame.right - (this.cursor.ago / this.span) * (frame.right - frame.left)) + 0.5;
        pen.strokeStyle = colour('--text');
        pen.lineWidth = 1;
        pen.setLineDash([3, 3]);
        pen.beginPath();
        pen.moveTo(x, frame.top);
        pen.lineTo(x, frame.bottom);
        pen.stroke();
        pen.setLineDash([]);
    }

    drawEmpty(pen, frame, text) {
        pen.fillStyle = colour('--muted');
        pen.textAlign = 'center';
        pen.textBaseline = 'middle';
        pen.fillText(text, (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2);
    }

    // pairs: [name, text, mark class]
    tell(pairs) {
        const when = agoText(this.cursor.ago);
        setText(this.when, when);
        setAttribute(this.canvas, 'aria-valuenow', -Math.round(this.cursor.ago ?? 0));
        setAttribute(this.canvas, 'aria-valuetext', `${when}: ${pairs.map(([name, text]) => `${name} ${text}`).join(', ')}`);
        while (this.readout.children.length > pairs.length) this.readout.lastChild.remove();
        pairs.forEach(([name, text, mark], index) => {
            let item = this.readout.children[index];
            if (!item) {
                item = el('div', {}, el('dt'), el('dd'));
                this.readout.append(item);
            }
            setAttribute(item, 'class', mark ? `mark mark-${mark}` : null);
            setText(item.firstChild, name);
            setText(item.lastChild, text);
        });
    }
}

// ---- Lines ---------------------------------------------------------------------------------

// series: {name, mark (a class and a colour: 'p50' is --p50), value(sample) or null, filled, dashed}
// log: values are times on a logarithmic scale, with 0 at the bottom; else they are whole numbers from 0.
export class LineChart extends Chart {
    constructor(options) {
        super(options);
        this.series = options.series;
        this.log = options.log;
        this.text = options.text ?? (options.log ? timeText : countText);
        this.empty = options.empty ?? 'no data yet';
    }

    scale(frame) {
        const values = [];
        for (const sample of this.samples) for (const { value } of this.series) values.push(value(sample));
        const tall = frame.bottom - frame.top;
        if (this.log) {
            const [low, high] = logRange(values);
            const ground = 10; // pixels for 0, below the lowest decade
            const size = Math.log(high / low);
            const y = (value) =>
                value <= 0 ? frame.bottom : frame.bottom - ground - (Math.log(value / low) / size) * (tall - ground);
            return { y, ticks: logTicks(low, high, tall / 26).map((tick) => [tick, tickText(tick)]) };
        }
        const top = Math.max(1, ...values.filter((value) => value !== null && value !== undefined));
        const ticks = wholeTicks(top, tall / 30);
        const most = ticks[ticks.length - 1];
        return { y: (value) => frame.bottom - (value / most) * tall, ticks: ticks.map((tick) => [tick, countText(tick)]) };
    }

    draw() {
        const { pen, width, height } = fit(this.canvas);
        if (width === 0) return;
        const frame = this.frame(width, height);
        const { y, ticks } = this.scale(frame);
        for (const [tick, text] of ticks) this.drawRow(pen, frame, y(tick), text);
        this.drawTimeAxis(pen, frame);
        let drawn = false;
        for (const series of this.series) drawn = this.drawSeries(pen, frame, y, series) || drawn;
        if (!drawn) this.drawEmpty(pen, frame, this.empty);
        this.drawCursor(pen, frame);
        const sample = this.sampleAtCursor();
        if (this.cursor.ago !== null && sample) this.drawDots(pen, frame, y, sample);
        this.tell(this.series.map(({ name, mark, value }) => [name, sample ? this.text(value(sample)) : '–', mark]));
    }

    drawSeries(pen, frame, y, { mark, value, filled, dashed }) {
        const runs = runsOf(this.samples, value);
        pen.strokeStyle = colour(`--${mark}`);
        pen.lineWidth = 1.75;
        pen.lineJoin = 'round';
        pen.setLineDash(dashed ? [5, 4] : []);
        for (const run of runs) {
            const points = run.map((sample) => [this.x(frame, sample.at_ns), y(value(sample))]);
            if (points.length === 1) points.push([points[0][0] + 1.5, points[0][1]]);
            if (filled) fillBelow(pen, points, frame.bottom, colour(`--${mark}`));
            pen.beginPath();
            points.forEach(([px, py], index) => (index === 0 ? pen.moveTo(px, py) : pen.lineTo(px, py)));
            pen.stroke();
        }
        pen.setLineDash([]);
        return runs.length > 0;
    }

    drawDots(pen, frame, y, sample) {
        for (const { mark, value } of this.series) {
            const there = value(sample);
            if (there === null || there === undefined) continue;
            pen.fillStyle = colour(`--${mark}`);
            pen.beginPath();
            pen.arc(this.x(frame, sample.at_ns), y(there), 3.5, 0, 2 * Math.PI);
            pen.fill();
        }
    }
}

// Splits the samples into runs in which each has a value.
function runsOf(samples, value) {
    const runs = [];
    let last = null;
    for (const sample of samples) {
        const there = value(sample);
        if (there === null || there === undefined) {
            last = null;
            continue;
        }
        if (!last || sample.at_ns - last.at_ns > GAP_NS) runs.push([]);
        runs[runs.length - 1].push(sample);
        last = sample;
    }
    return runs;
}

function fillBelow(pen, points, bottom, style) {
    pen.save();
    pen.globalAlpha = 0.16;
    pen.fillStyle = style;
    pen.beginPath();
    pen.moveTo(points[0][0], bottom);
    for (const [x, y] of points) pen.lineTo(x, y);
    pen.lineTo(points[points.length - 1][0], bottom);
    pen.fill();
    pen.restore();
}

// ---- A line for a card -------------------------------------------------------------------------

export class Spark {
    constructor({ label, series }) {
        this.series = series;
        this.canvas = el('canvas', { class: 'spark', role: 'img', 'aria-label': label });
        this.element = this.canvas;
        this.samples = [];
        this.canvas.redraw = () => this.draw();
        resized.observe(this.canvas);
    }

    show(samples, now_ns, top) {
        this.samples = samples;
        this.now_ns = now_ns;
        this.top = top;
        this.draw();
    }

    draw() {
        const { pen, width, height } = fit(this.canvas);
        if (width === 0 || this.samples.length === 0) return;
        let most = Math.max(1, this.top ?? 1);
        for (const { value } of this.series) for (const sample of this.samples) most = Math.max(most, value(sample) ?? 0);
        const span = spanOf(this.samples, this.now_ns) * 1e9;
        const x = (sample) => width - ((this.now_ns - sample.at_ns) / span) * width;
        const y = (value) => height - 1 - (value / most) * (height - 3);
        for (const { mark, value, filled } of this.series) {
            if (!filled && !this.samples.some((sample) => value(sample) > 0)) continue; // a line of zeros shows nothing
            pen.strokeStyle = colour(`--${mark}`);
            pen.lineWidth = 1.5;
            for (const run of runsOf(this.samples, value)) {
                const points = run.map((sample) => [x(sample), y(value(sample))]);
                if (filled) fillBelow(pen, points, height, colour(`--${mark}`));
                pen.beginPath();
                points.forEach(([px, py], index) => (index === 0 ? pen.moveTo(px, py) : pen.lineTo(px, py)));
                pen.stroke();
            }
        }
    }
}
