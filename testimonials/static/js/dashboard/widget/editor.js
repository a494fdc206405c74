// The widget editor works without this file: its form has buttons. With it each change is saved to the
// draft at once, and shown in the preview.
import '../../copy.js';
import { fill, post } from '../../post.js';
import { isUndo, readKey } from '../keys.js';
import { listChanged, showStored, startSaving } from '../saving.js';
import { showToast } from '../toast.js';
import { startPicture } from './picture.js';

const words = document.querySelector('[data-editor]').dataset;
const form = document.querySelector('[data-controls]');
const frame = document.querySelector('[data-frame]');
const stage = document.querySelector('[data-stage]');
const note = document.querySelector('[data-note]');
const find = (name) => document.querySelector(`[data-${name}]`);
const TYPING_MS = 400;

/* ---------------------------------------------------------------- controls */

function show({ color }) {
  const own = form.elements.colour.value.trim();
  const said = find('colour-words');
  said.textContent = !own ? said.dataset.sayBrand : said.dataset[`say${own[0].toUpperCase()}${own.slice(1)}`] ?? said.dataset.sayOwn;
  if (color) {
    find('swatch').setAttribute('fill', color);
    find('picker').value = color.toLowerCase();
  }
  const corners = form.elements.corners;
  corners.setAttribute('aria-valuetext', JSON.parse(corners.dataset.stops)[corners.value]);
}

// Show the server's response: changed values, and the texts of the head.
function take(data, waiting = new Set()) {
  showStored(form, data.values, waiting);
  find('changed').textContent = data.changed;
  find('look').textContent = data.look;
  find('back').textContent = data.back;
  find('order-name').textContent = data.order;
  find('undo-step').disabled = !data.may_undo;
  show(data);
  tell({ feed: data.feed });
}

/* ------------------------------------------------------------------ saving */

// The fields that the server refused, until they are changed.
const refused = new Set();
function mark(name, isRefused) {
  refused[isRefused ? 'add' : 'delete'](name);
  document.getElementById(`editor-${name}`)?.setAttribute('aria-invalid', isRefused);
}

// The whole form, without what would be refused again, so that it doesn't hold up the rest. It is
// published with that, or the service would say that all is public.
function readForm(submitter = null) {
  if (submitter) for (const name of refused) mark(name, false);
  const body = new URLSearchParams(new FormData(form, submitter));
  const before = JSON.parse(body.get('before'));
  for (const name of refused) {
    body.delete(name);
    delete before[name];
  }
  body.set('before', JSON.stringify(before));
  return body;
}
function refuse(failure, waiting = new Set()) {
  for (const name of Object.keys(failure.errors ?? {})) if (!waiting.has(name)) mark(name, true);
  showToast(fill(words.sayFailed, { reason: failure.message }));
}
// The whole form is sent, with the previous values.
const saving = startSaving(form.getAttribute('action'), () => readForm(), { onStored: take, onFailed: refuse });

function noteChange(name, delay = 0) {
  mark(name, false);
  see('draft');
  saving.queue(name, delay);
}

form.addEventListener('input', ({ target }) => {
  if (!target.name) return;
  show({});
  const isTyped = target.matches('[type="text"], [type="number"], [type="range"]');
  noteChange(target.name, isTyped ? TYPING_MS : 0);
});
form.addEventListener('change', saving.save);

// Perform a button's action, after pending changes.
async function act(action, readBody) {
  await saving.save();
  try {
    const data = await post(action, readBody());
    take(data);
    if (data.message) showToast(data.message);
    return true;
  } catch (failure) {
    refuse(failure);
    return false;
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { submitter } = event;
  if (submitter?.name !== 'publish') saving.save();
  else if (await act(form.getAttribute('action'), () => readForm(submitter))) tell({ round: performance.now() });
});
for (const each of document.querySelectorAll('[data-act]')) {
  each.addEventListener('submit', (event) => {
    event.preventDefault();
    const menu = each.closest('details[data-menu]');
    if (menu) menu.open = false;
    act(each.getAttribute('action'), () => new URLSearchParams(new FormData(each, event.submitter)));
  });
}

const picker = find('picker');
picker.addEventListener('input', (event) => {
  event.stopPropagation();
  form.elements.colour.value = picker.value.toUpperCase();
  show({});
  noteChange('colour', 120);
});
find('use-brand').addEventListener('click', () => {
  form.elements.colour.value = '';
  show({});
  noteChange('colour');
});
for (const button of form.querySelectorAll('[data-step]')) {
  button.addEventListener('click', () => {
    const field = form.elements.initialCount;
    if (button.dataset.step < 0) field.stepDown();
    else field.stepUp();
    noteChange('initialCount', 150);
  });
}
const more = form.querySelector('.more');
more.addEventListener('toggle', () => {
  if (!more.open) return;
  form.parentElement.scrollTop = 0;
  scrollTo(0, 0);
});
more.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  more.open = false;
  more.querySelector('summary').focus();
});
document.addEventListener('keydown', (event) => {
  if (!isUndo(event)) return;
  event.preventDefault();
  find('undo-step').click();
});

// A sheet over the editor has changed the draft.
document.addEventListener('draft', ({ detail }) => take(detail));

/* ----------------------------------------------------------------- preview */

const state = { view: 'draft', data: 'real', feed: null, page: {}, round: 0 };
function tell(what = {}) {
  Object.assign(state, what);
  frame.contentWindow.postMessage(state, location.origin);
}

const now = find('now');
function see(view) {
  if (state.view === view) return;
  now.setAttribute('aria-pressed', String(view === 'now'));
  tell({ view });
}
now.addEventListener('click', () => see(state.view === 'now' ? 'draft' : 'now'));
document.addEventListener('keydown', (event) => { if (readKey(event) === 'c' && !event.repeat && !event.defaultPrevented) see('now'); });
document.addEventListener('keyup', (event) => { if (readKey(event) === 'c') see('draft'); });

for (const radio of document.querySelectorAll('[name="device"]')) radio.addEventListener('change', () => { stage.dataset.device = radio.value; });
for (const radio of document.querySelectorAll('[name="try"]')) radio.addEventListener('change', () => tell({ data: radio.value }));
startPicture(stage, (page) => tell({ page }), () => showToast(words.sayNoPicture));

function explain({ total, data }) {
  if (total) return '';
  if (data !== 'real') return words.sayNothing;
  return words.active === 'true' ? words.sayNoneSelected : words.sayPaused;
}
addEventListener('message', (event) => {
  if (event.source !== frame.contentWindow || event.origin !== location.origin) return;
  if (event.data.type === 'hello') tell();
  if (event.data.type !== 'shown') return;
  note.textContent = explain(event.data);
  note.hidden = !note.textContent;
});

// Changes from before this file was loaded.
show({});
for (const field of listChanged(form)) noteChange(field.name);
tell();
