// The list of the inbox: its rows, the current row, and the selection.
import { count } from '../counted.js';

export const inbox = () => document.getElementById('inbox');
export const rows = () => [...inbox().querySelectorAll('[data-item]')];
// All rows that can be current.
export const ROW = '[data-item], [data-proposal]';
export const list = () => inbox().querySelector('[data-list]');
export const picks = () => [...inbox().querySelectorAll('[data-pick]')];

/* ---------------------------------------------------------- current row */

export let current = null;
// Shift selects from here.
export let anchor = null;

export function setCurrent(row, focus = true) {
  if (current !== row) {
    current?.classList.remove('is-current');
    current = row;
    row?.classList.add('is-current');
  }
  if (!row || !focus) return;
  row.focus({ preventScroll: true });
  // Show a row taller than the window from its top.
  row.scrollIntoView({ block: row.offsetHeight > innerHeight * 0.7 ? 'start' : 'nearest' });
}

export function move(step) {
  // Proposals come after the testimonials.
  const all = [...inbox().querySelectorAll(ROW)];
  if (!all.length) return;
  const at = all.indexOf(current);
  const next = at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step));
  setCurrent(all[next]);
}

/* ------------------------------------------------------------ selection */

export function showSelection() {
  const head = inbox().querySelector('[data-bulk]');
  if (!head) return;
  const boxes = picks();
  const chosen = boxes.filter((box) => box.checked).length;
  const all = head.querySelector('[data-all]');
  if (all && chosen < boxes.length) all.checked = false;
  const { total, plus } = list()?.dataset ?? { total: 0, plus: '' };
  const number = !all?.checked ? chosen : plus ? `${total}${plus}` : Number(total);
  head.classList.toggle('has-selection', chosen > 0);
  inbox().classList.toggle('is-selecting', chosen > 0);
  head.querySelector('[data-every]').hidden = chosen === boxes.length;
  const selected = head.querySelector('[data-selected]');
  selected.textContent = chosen ? count(selected, 'say', number) : '';
  for (const place of head.querySelectorAll('[data-bulk-number]')) place.textContent = number || '';
}

export function pickAll(isOn) {
  for (const box of picks()) box.checked = isOn;
  showSelection();
}

export function pick(row, isRange) {
  const box = row.querySelector('[data-pick]');
  const all = rows();
  const from = all.indexOf(anchor);
  if (isRange && from >= 0) {
    const to = all.indexOf(row);
    for (const each of all.slice(Math.min(from, to), Math.max(from, to) + 1)) each.querySelector('[data-pick]').checked = true;
  } else {
    box.checked = !box.checked;
  }
  setAnchor(row);
  showSelection();
}

export function setAnchor(row) {
  anchor = row;
}

export function changeTotal(by) {
  if (list()) list().dataset.total = Math.max(0, Number(list().dataset.total) + by);
}

/* ------------------------------------------------------------ a new list */

// Texts that are cut off can be expanded; the width of rows changes.
const clipped = new ResizeObserver((entries) => {
  for (const { target } of entries) target.nextElementSibling.hidden = target.scrollHeight - target.clientHeight < 4;
});

// Start the list in the page, which is replaced once it is empty.
export function setUp() {
  if (!current?.isConnected) current = null;
  anchor = null;
  // A row keeps its number, to return to its place if its decision is rejected.
  rows().forEach((row, index) => {
    row.dataset.order = index;
    clipped.observe(row.querySelector('.item-text'));
  });
  const none = inbox().querySelector('[data-none]');
  if (none) none.hidden = false;
  showSelection();
  // The keys work at once.
  if (!current && rows().length) setCurrent(rows()[0], false);
  const tab = inbox().querySelector('.tabs [aria-current]');
  const strip = tab?.closest('ul');
  if (strip && strip.scrollWidth > strip.clientWidth) strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - 16;
}
