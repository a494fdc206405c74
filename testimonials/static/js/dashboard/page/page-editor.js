// The page editor works without this file: its forms have a Save button. With it each change is
// saved, and shown in the preview, at once.
import { fill, showProblem } from '../../post.js';
import { describe, describedBy } from '../../mend.js';
import { listChanged, sayIn, showStored, startSaving } from '../saving.js';
import { isComplete, startItems } from './items.js';
import { startPictures } from './pictures.js';
import { framePart, patch, refresh, showView, startPreview } from './preview.js';

const form = document.querySelector('[data-editor]');
// Typing is debounced.
const TYPING_MS = 400;

/* ---------------------------------------------------------- the fields */

// Show or remove the error below a field.
function showFieldProblem(field, text) {
  const id = `${field.id}-problem`;
  document.getElementById(id)?.remove();
  const others = describedBy(field).filter((each) => each !== id);
  const place = Object.assign(document.createElement('p'), { id, className: 'field-error' });
  if (text) field.after(place);
  showProblem(place, text, field);
  describe(field, text ? [...others, id] : others);
}

// The server counts code points, after trimming.
const lengthOf = (field) => [...field.value.trim()].length;
const isLong = (field) => lengthOf(field) > Number(field.dataset.limit);
// An incomplete card is saved once it loses the focus.
const isBegun = (item) => item.contains(document.activeElement) && !isComplete(item);
const findAll = (selector, isWanted) => [...form.querySelectorAll(selector)].filter(isWanted);

form.addEventListener('input', ({ target }) => {
  if (!target.name || target.type === 'file') return;
  accept(([field]) => holderOf(field).contains(target));
  const isTyped = ['text', 'url', 'number'].includes(target.type) || target.localName === 'textarea';
  if ('limit' in target.dataset) showFieldProblem(target, isLong(target) ? fill(form.dataset.sayLong, { limit: target.dataset.limit, count: lengthOf(target) }) : '');
  if (!isLong(target)) change(target.name, isTyped ? TYPING_MS : 0);
  patch();
});
form.addEventListener('change', ({ target }) => {
  if (target.type !== 'file') saving.save();
});
form.addEventListener('submit', (event) => {
  if (event.submitter?.hasAttribute('formaction')) return;
  event.preventDefault();
  saving.save();
});
form.querySelector('[data-save]').hidden = true;

let isHeld = false;
function change(name, delay = 0) {
  isHeld = findAll('[data-item]', isBegun).length > 0;
  if (!isHeld) saving.queue(name, delay);
}

form.addEventListener('focusout', ({ target, relatedTarget }) => {
  if (!isHeld || target.closest('[data-item]')?.contains(relatedTarget)) return;
  isHeld = false;
  // By then the focus has moved.
  saving.queue('cards', 1);
});

/* ------------------------------------------------------------------ saving */

// The cards that this form has shown: one that a colleague has added since must not count as deleted.
const seen = new Set();
// The fields that the server refused, with its reasons, until they are changed.
let refused = [];

const holderOf = (field) => field.closest('[data-item]') ?? field;

// Forget the errors of those that `isMended`.
function accept(isMended) {
  for (const [field] of refused.filter(isMended)) showFieldProblem(field, '');
  refused = refused.filter((each) => !isMended(each));
}

// The whole form, without what would be rejected, so that it doesn't hold up the rest.
function toBody() {
  accept(([field]) => !field.isConnected);
  const body = new URLSearchParams([...new FormData(form)].filter(([, value]) => typeof value === 'string'));
  for (const place of [...findAll('[data-limit]', isLong), ...findAll('[data-item]', isBegun), ...refused.map(([field]) => field)]) {
    body.delete(place.closest('[data-items]')?.dataset.items ?? place.name);
  }
  for (const item of form.querySelectorAll('[data-item]')) seen.add(item.dataset.item);
  return body;
}

const fieldOf = (name) => {
  const place = document.getElementById(`editor-${name}`);
  return place?.matches('input, textarea') ? place : place?.querySelector('input');
};

function onFailed({ errors }, waiting) {
  for (const [name, texts] of Object.entries(errors ?? {})) {
    const field = fieldOf(name);
    if (!field || waiting.has(field.name)) continue;
    refused.push([field, texts.join(' ')]);
    showFieldProblem(field, texts.join(' '));
  }
}

function onStored({ values = {}, rows }, waiting) {
  for (const name of ['questions', 'steps']) {
    if (values[name]) values[name] = values[name].filter(({ id }) => seen.has(id));
  }
  showStored(form, values, waiting);
  showValues(rows);
  if (!waiting.size) refresh();
}

const state = document.querySelector('[data-save-state]');
const tell = sayIn(state);
const say = (kind, reason) => (kind === 'saved' && refused.length ? tell('failed', refused[0][1]) : tell(kind, reason));
const saving = startSaving(form.getAttribute('action'), toBody, { onStored, onFailed, say });
say('saved');
state.querySelector('[data-save-retry]').addEventListener('click', () => {
  // The button is removed, so the focus moves on.
  document.querySelector('h1').focus({ preventScroll: true });
  accept(() => true);
  saving.queue('cards');
});
addEventListener('beforeunload', (event) => {
  // Ask only if something could not be saved.
  if (state.dataset.saveState === 'failed') event.preventDefault();
});

function showValues(rows = {}) {
  for (const [name, text] of Object.entries(rows)) {
    const place = document.querySelector(`[data-row="${name}"] [data-value]`);
    if (place) place.textContent = text;
  }
}

/* ---------------------------------------------------------------- start */

// The preview frames the part of the open row, and a tap on a part opens its row.
for (const row of document.querySelectorAll('[data-row]')) {
  row.addEventListener('toggle', () => {
    if (row.matches('.part-panel')) row.scrollIntoView({ block: 'nearest' });
    if (row.open) showRow(row);
  });
  row.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented || !row.matches('.part-panel[open]')) return;
    row.open = false;
    row.querySelector('summary').focus();
  });
}

function showRow(row) {
  showView(row.dataset.shows);
  framePart(row.dataset.row);
}

function openRow(part) {
  document.querySelector('[data-pane="preview"] [data-pane-button="settings"]')?.click();
  const row = part.closest('[data-row]');
  if (row) row.open = true;
  else if (part.matches('a')) part.focus();
  const card = part.querySelector(':scope > .item-box');
  if (card) card.open = true;
  (row ?? part).scrollIntoView({ block: 'nearest' });
}

// Outside of the rows nothing is framed.
document.getElementById('settings-pane').addEventListener('focusin', (event) => framePart(event.target.closest('[data-part]')?.dataset.part ?? ''));

startItems(form, () => change('cards'));
startPictures((rows) => {
  refresh();
  showValues(rows);
});
startPreview(openRow);
patch();
const opened = document.querySelector('[data-row][open]');
if (opened) showView(opened.dataset.shows);
for (const field of listChanged(form)) field.dispatchEvent(new Event('input', { bubbles: true }));
