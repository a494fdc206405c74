// The page editor works without this file: its forms have a Save button. With it each change is
// saved, and shown in the preview, at once.
import { fill, showProblem } from '../../post.js';
import { describe, describedBy } from '../mended.js';
import { listChanged, sayIn, startSaving } from '../saving.js';
import { isComplete, startItems } from './items.js';
import { startPictures } from './pictures.js';
import { framePart, patch, refresh, showView, startPreview } from './preview.js';

const form = document.querySelector('[data-editor]');
const all = JSON.parse(form.dataset.config);
// Typing is debounced.
const TYPING_MS = 400;
// The queue's name for questions, steps and prompts, which are sent as a whole.
const LISTS = ' lists';

const controls = (name) => [...form.elements].filter((each) => each.name === name && each.type !== 'hidden' && each.localName !== 'button');
const isText = (name) => !['radio', 'checkbox', 'number'].includes(controls(name)[0].type);
const config = Object.fromEntries(Object.entries(all).filter(([, value]) => !Array.isArray(value)));
let lists = Object.fromEntries(Object.entries(all).filter(([, value]) => Array.isArray(value)));

/* ---------------------------------------------------------- the settings */

function read(name) {
  const [first] = controls(name);
  if (first.type === 'checkbox') return first.checked;
  if (first.type === 'radio') return controls(name).find((each) => each.checked)?.value;
  return first.value;
}

function write(name, value) {
  for (const each of controls(name)) {
    if (each.type === 'checkbox') each.checked = value;
    else if (each.type === 'radio') each.checked = each.value === value;
    else each.value = value;
  }
}

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

// Check a field's length as the server does: in code points, after trimming.
function checkLength(field) {
  const limit = Number(field.dataset.limit);
  const isLong = Boolean(limit) && [...field.value.trim()].length > limit;
  showFieldProblem(field, isLong ? fill(form.dataset.sayLong, { limit }) : '');
  return !isLong;
}

form.addEventListener('input', (event) => {
  const { name, type } = event.target;
  if (type === 'file') return;
  const isTyped = ['text', 'url'].includes(type) || event.target.localName === 'textarea';
  if (isTyped && !checkLength(event.target)) {
    // The queued value is out of date.
    saving.drop(name in config ? name : LISTS);
    return;
  }
  if (!(name in config)) {
    if (name) changeLists(isTyped ? TYPING_MS : 0);
    return;
  }
  change({ [name]: read(name) }, isText(name) ? TYPING_MS : 0);
});
form.addEventListener('change', (event) => {
  if (event.target.type !== 'file') saving.save();
});
form.addEventListener('submit', (event) => {
  if (event.submitter?.hasAttribute('formaction')) return;
  event.preventDefault();
  saving.save();
});
form.querySelector('[data-save]').hidden = true;

function change(changes, delay) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || config[name] === value) continue;
    config[name] = value;
    saving.queue(name, delay);
  }
  patch(config);
}

/* -------------------------------------------------------------- the lists */

let isHeld = false;
const isWaiting = () => [...form.querySelectorAll('[data-item]')].some((item) => item.contains(document.activeElement) && !isComplete(item));

// The server would reject an incomplete card, so it is saved once it loses the focus.
function changeLists(delay = 0) {
  isHeld = isWaiting();
  if (isHeld) saving.drop(LISTS);
  else saving.queue(LISTS, delay);
}

form.addEventListener('focusout', (event) => {
  const item = event.target.closest('[data-item]');
  if (isHeld && item && !item.contains(event.relatedTarget)) {
    isHeld = false;
    saving.queue(LISTS);
  }
});

// A colleague's new question, which this form never showed, must not count as deleted.
const seen = new Set(Object.values(lists).flat().map((item) => item.id));
const seenOf = (items) => items.filter((item) => typeof item === 'string' || seen.has(item.id));
const shown = () => JSON.stringify(Object.fromEntries(Object.entries(lists).map(([name, items]) => [name, seenOf(items)])));

function toBody(names) {
  const body = new URLSearchParams();
  for (const name of names) if (name !== LISTS) body.append(name, config[name]);
  if (!names.has(LISTS)) return body;
  for (const [name, value] of new FormData(form)) {
    if (!(name in config) && typeof value === 'string') body.append(name, value);
  }
  body.set('before', shown());
  for (const item of form.querySelectorAll('[data-item]')) seen.add(item.dataset.item);
  return body;
}

/* ------------------------------------------------------------------ saving */

// The fields with errors in the last response.
let refused = [];

const fieldOf = (name) => {
  const place = document.getElementById(`editor-${name}`);
  return place?.matches('input, textarea') ? place : place?.querySelector('input');
};

function onFailed({ errors }) {
  refused = Object.entries(errors ?? {}).map(([name, texts]) => [fieldOf(name), texts]).filter(([field]) => field);
  for (const [field, texts] of refused) showFieldProblem(field, texts.join(' '));
}

function onStored(data, waiting) {
  for (const [field] of refused.splice(0)) if (field.isConnected) showFieldProblem(field, '');
  const values = Object.entries(data.values ?? {});
  lists = { ...lists, ...Object.fromEntries(values.filter(([, value]) => Array.isArray(value))) };
  // Shows what a colleague has changed meanwhile.
  for (const [name, value] of values) {
    if (Array.isArray(value) || waiting.has(name) || config[name] === value || !controls(name).length) continue;
    config[name] = value;
    if (controls(name)[0] !== document.activeElement) write(name, value);
  }
  showValues(data.rows);
  if (!waiting.size) refresh(config);
}

const state = document.querySelector('[data-save-state]');
const say = sayIn(state);
const saving = startSaving(form.getAttribute('action'), toBody, { onStored, onFailed, say });
say('saved');
state.querySelector('[data-save-retry]').addEventListener('click', () => {
  // The button is removed, so the focus moves on.
  document.querySelector('h1').focus({ preventScroll: true });
  saving.save();
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
  showView(row.dataset.shows, config);
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

startItems(form, changeLists);
startPictures({
  onChange: (rows) => {
    refresh(config);
    showValues(rows);
  },
  onFocus: (focusX, focusY) => {
    write('focusX', focusX);
    write('focusY', focusY);
    change({ focusX, focusY }, TYPING_MS);
  },
});
startPreview(config, openRow);
patch(config);
const opened = document.querySelector('[data-row][open]');
if (opened) showView(opened.dataset.shows, config);
for (const field of listChanged(form)) field.dispatchEvent(new Event('input', { bubbles: true }));
