// SPDX-License-Identifier: MIT
// Tables that are sorted by buttons in their headers. A row keeps its elements while its values change; on a narrow
// page each row becomes a small card. A row may have details, which open below it.

import { el, setText, setAttribute, setHidden, keyed } from './dom.js';

let tables = 0;

// columns: {label, number, value(item): to sort by, text(item), or fill(cell, item)}; the first names the row
// key(item); sort: {column, down}; details: {make() -> {element, update(item)}, open(item) -> true if there are any}
export class Table {
    constructor({ title, columns, key, sort, details, empty }) {
        this.columns = columns;
        this.key = key;
        this.sort = sort ?? null;
        this.details = details ?? null;
        this.items = [];
        this.heads = columns.map((column, index) => this.head(column, index));
        this.table = el(
            'table',
            { 'aria-label': title, role: 'table' },
            el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...this.heads)),
        );
        this.nothing = el('p', { class: 'empty', text: empty });
        this.more = el('p', { class: 'note' });
        this.element = el('div', { class: 'table' }, this.table, this.nothing, this.more);
    }

    head(column, index) {
        const button = el('button', { type: 'button', text: column.label, on: { click: () => this.sortBy(index) } });
        return el('th', { scope: 'col', role: 'columnheader', class: column.number ? 'number' : null }, button);
    }

    // Numbers sort descending first, texts ascending.
    sortBy(index) {
        const down = this.sort && this.sort.column === index ? !this.sort.down : Boolean(this.columns[index].number);
        this.sort = { column: index, down };
        this.update(this.items, this.beyond);
    }

    sorted() {
        if (!this.sort) return this.items;
        const { column, down } = this.sort;
        const value = this.columns[column].value ?? this.columns[column].text;
        const order = (a, b) => {
            const [one, other] = [value(a) ?? '', value(b) ?? ''];
            if (typeof one === 'number' && typeof other === 'number') return one - other;
            return String(one).localeCompare(String(other), undefined, { numeric: true });
        };
        return [...this.items].sort((a, b) => (down ? order(b, a) : order(a, b)));
    }

    update(items, beyond = 0) {
        this.items = items;
        this.beyond = beyond;
        this.heads.forEach((head, index) => {
            const mine = this.sort && this.sort.column === index;
            setAttribute(head, 'aria-sort', mine ? (this.sort.down ? 'descending' : 'ascending') : null);
        });
        // Each row is a tbody of its own, so that its details stay with it. The thead is the table's first child.
        this.bodies ??= new Bodies(this.table);
        keyed(
            this.bodies,
            this.sorted(),
            this.key,
            (item) => this.makeRow(item),
            (row, item) => this.updateRow(row, item),
        );
        setHidden(this.table, items.length === 0);
        setHidden(this.nothing, items.length > 0);
        setHidden(this.more, !beyond);
        setText(this.more, beyond ? `and ${beyond} more` : '');
    }

    makeRow() {
        const cells = this.columns.map((column, index) =>
            el(index === 0 ? 'th' : 'td', {
                scope: index === 0 ? 'row' : null,
                role: index === 0 ? 'rowheader' : 'cell',
                class: column.number ? 'number' : null,
                'data-label': column.label,
            }),
        );
        const line = el('tr', { role: 'row' }, ...cells);
        const row = { element: el('tbody', { role: 'rowgroup' }, line), cells, line };
        if (this.details) this.makeDetails(row);
        return row;
    }

    makeDetails(row) {
        const id = `details-${++tables}`;
        row.details = this.details.make();
        row.opened = el(
            'tr',
            { class: 'details', id, role: 'row', hidden: true },
            el('td', { colspan: this.columns.length, role: 'cell' }, row.details.element),
        );
        row.button = el('button', { type: 'button', class: 'disclose', 'aria-expanded': 'false', 'aria-controls': id });
        row.cells[0].append(row.button);
        row.element.append(row.opened);
        row.line.classList.add('opens');
        row.line.addEventListener('click', (event) => {
            if (event.target.closest('a') || String(getSelection())) return;
            row.opened.hidden = !row.opened.hidden;
            row.button.setAttribute('aria-expanded', String(!row.opened.hidden));
        });
    }

    updateRow(row, item) {
        this.columns.forEach((column, index) => {
            const place = index === 0 && row.button ? row.button : row.cells[index];
            if (column.fill) column.fill(place, item);
            else setText(place, column.text(item));
        });
        if (row.details) row.details.update(item);
    }
}

// The tbody elements of a table, as if they were the children of an element.
class Bodies {
    constructor(table) {
        this.table = table;
    }

    get firstChild() {
        return this.table.tHead.nextSibling;
    }

    insertBefore(element, place) {
        this.table.insertBefore(element, place);
    }
}
