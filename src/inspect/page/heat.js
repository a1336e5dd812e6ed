// SPDX-License-Identifier: MIT
// A heat map of histograms: time against duration on a logarithmic scale. The stronger a cell's colour, the more events
// it has.

import { el, setText } from './dom.js';
import { colour } from './theme.js';
import { Chart, fit } from './chart.js';
import { timeText, tickText, countText, cellsOf } from './numbers.js';

const LEAST_ROWS = 8; // a single row does not fill the map
const STEPS = 6; // colours --heat-1 to --heat-6, from few to many

export class HeatMap extends Chart {
    constructor(options) {
        super({ ...options, tall: true });
        this.timing = options.timing;
        this.none = options.none; // the label of events that took no time
        this.nothing = options.nothing; // the message if all took no time
        this.row = null;
        this.map = { rows: [], most: 0, none: 0 };
        const legend = el('div', { class: 'legend', 'aria-hidden': 'true' }, el('span', { text: '1' }));
        for (let step = 1; step <= STEPS; step++) legend.append(el('span', { class: `heat heat-${step}` }));
        this.most = el('span', { text: '' });
        legend.append(this.most);
        this.element.append(legend);
    }

    pointed(y) {
        const frame = this.frame(this.canvas.clientWidth, this.canvas.clientHeight);
        const tall = (frame.bottom - frame.top) / Math.max(LEAST_ROWS, this.map.rows.length);
        this.row = Math.max(0, Math.min(this.map.rows.length - 1, Math.floor((frame.bottom - y) / tall)));
    }

    keyUpDown(key) {
        if (key !== 'ArrowUp' && key !== 'ArrowDown') return false;
        this.row = Math.max(0, Math.min(this.map.rows.length - 1, (this.row ?? 0) + (key === 'ArrowUp' ? 1 : -1)));
        return true;
    }

    draw() {
        const { pen, width, height } = fit(this.canvas);
        if (width === 0) return;
        const frame = this.frame(width, height);
        const columns = Math.max(30, Math.min(this.span, Math.floor((frame.right - frame.left) / 4)));
        const samples = this.samples.map(({ at_ns, spreads }) => ({ at_ns, spread: spreads[this.timing] }));
        this.map = cellsOf(samples, this.now_ns, this.span * 1e9, columns);
        const { rows, most, none } = this.map;
        const tall = (frame.bottom - frame.top) / Math.max(LEAST_ROWS, rows.length);
        if (most > 0 || none > 0) this.drawCells(pen, frame, tall);
        if (most === 0) this.drawEmpty(pen, frame, none > 0 ? this.nothing : 'no data yet');
        this.drawTimeAxis(pen, frame);
        this.drawScale(pen, frame, tall);
        this.drawCursor(pen, frame);
        setText(this.most, most > 0 ? countText(Math.round(most)) : '');
        this.tellCell(pen, frame, tall);
    }

    drawCells(pen, frame, tall) {
        const { rows, most, columns } = this.map;
        const wide = (frame.right - frame.left) / columns;
        const shades = Array.from({ length: STEPS }, (_, step) => colour(`--heat-${step + 1}`));
        const size = Math.log(1 + most);
        rows.forEach(({ counts }, index) => {
            const top = frame.bottom - (index + 1) * tall;
            counts.forEach((count, column) => {
                if (count === 0) return;
                // The row of events that took no time keeps the palest colour, however many there are.
                const step = index === 0 ? 0 : Math.min(STEPS - 1, Math.floor((Math.log(1 + count) / size) * STEPS));
                pen.fillStyle = shades[step];
                pen.fillRect(frame.left + column * wide, top, Math.max(1, wide - 0.5), Math.max(1, tall - 0.5));
            });
        });
    }

    drawScale(pen, frame, tall) {
        const { rows } = this.map;
        pen.fillStyle = colour('--muted');
        pen.textAlign = 'right';
        pen.textBaseline = 'middle';
        pen.fillText('0', frame.left - 6, frame.bottom - tall / 2);
        for (let decade = 0; decade < 16; decade++) {
            const value = 10 ** decade;
            const row = rows.findIndex(({ low, high }, index) => index > 0 && value >= low && value < high);
            if (row < 0) continue;
            const inside = Math.log(value / rows[row].low) / Math.log(rows[row].high / rows[row].low);
            const y = frame.bottom - (row + inside) * tall;
            if (y > frame.bottom - tall / 2 - 12) continue; // too near the 0
            pen.fillText(tickText(value), frame.left - 6, y);
        }
    }

    tellCell(pen, frame, tall) {
        const { rows, columns } = this.map;
        const column = Math.max(
            0,
            Math.min(columns - 1, columns - 1 - Math.floor(((this.cursor.ago ?? 0) / this.span) * columns)),
        );
        const row = rows[Math.min(this.row ?? 0, rows.length - 1)];
        if (this.cursor.ago === null || this.row === null) {
            const all = rows.reduce((sum, { counts }) => sum + counts[column], 0);
            this.tell([['total', countText(Math.round(all)), null]]);
            return;
        }
        const wide = (frame.right - frame.left) / columns;
        pen.strokeStyle = colour('--text');
        pen.lineWidth = 1.5;
        pen.strokeRect(frame.left + column * wide, frame.bottom - (rows.indexOf(row) + 1) * tall, Math.max(4, wide), tall);
        const range = row.high === 0 ? this.none : `${timeText(row.low)} to ${timeText(row.high)}`;
        this.tell([[range, countText(Math.round(row.counts[column])), null]]);
    }
}
