// A form with data-autosave is saved after each change; with a number, also that many milliseconds
// after typing. Without this file its button saves it. A rejected choice is reset.
import { listChanged, sayIn, startSaving } from './saving.js';
import { showToast } from './toast.js';

const SAID_MS = 5000;
const said = document.querySelector('[data-toasts]')?.dataset.saySaved;
let lastSaid = -Infinity;

function sayInToast(kind, reason) {
  if (kind === 'failed') {
    showToast(reason);
  } else if (kind === 'saved' && performance.now() - lastSaid > SAID_MS) {
    lastSaid = performance.now();
    showToast(said);
  }
}

const isChoice = (field) => field.type === 'checkbox' || field.type === 'radio' || field.localName === 'select';
const isFile = (field) => field.type === 'file';
const isText = (field) => field.localName === 'textarea';

// The choices as stored on the server.
const read = (form) => [...form.elements].filter(isChoice)
  .map((field) => [field, field.localName === 'select' ? field.value : field.checked]);
function putBack(choices) {
  for (const [field, value] of choices) {
    if (field.localName === 'select') field.value = value; else field.checked = value;
  }
}

// The whole form is sent.
const ALL = 'all';
const forms = new WeakMap();
function savingOf(form) {
  if (!forms.has(form)) forms.set(form, start(form));
  return forms.get(form);
}

function start(form) {
  const state = form.querySelector('[data-save-state]');
  let kept = read(form);
  const tell = (type, detail) => form.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
  function toBody() {
    const body = new FormData(form);
    // A file is sent only once.
    for (const field of form.elements) if (isFile(field)) field.value = '';
    return form.enctype === 'multipart/form-data' ? body : new URLSearchParams(body);
  }
  const saving = startSaving(form.getAttribute('action'), toBody, {
    onStored(data) {
      kept = read(form);
      tell('saved', data);
    },
    onFailed(failure) {
      saving.drop(ALL);
      putBack(kept);
      tell('refused', failure);
    },
    say: state ? sayIn(state) : sayInToast,
  });
  return saving;
}

document.addEventListener('input', ({ target }) => {
  const wait = Number(target.form?.dataset.autosave);
  if (wait && isText(target)) savingOf(target.form).queue(ALL, wait);
});
document.addEventListener('change', ({ target }) => {
  const { form } = target;
  if (!form?.matches('[data-autosave]')) return;
  if (form.dataset.autosave && isText(target)) savingOf(form).save();
  else savingOf(form).queue(ALL);
});
document.addEventListener('submit', (event) => {
  if (!event.target.matches('[data-autosave]')) return;
  event.preventDefault();
  savingOf(event.target).queue(ALL);
});
// Before the first change, the form shows what is stored.
document.addEventListener('focusin', ({ target }) => {
  if (target.form?.matches('[data-autosave]')) savingOf(target.form);
});

// On a slow connection, save what was changed before this file was loaded; but not what the browser
// restores after a reload.
const isOpened = performance.getEntriesByType('navigation')[0]?.type === 'navigate';
for (const form of document.querySelectorAll('form[data-autosave]')) {
  const saving = savingOf(form);
  const isDone = (field) => isChoice(field) || isFile(field) || field !== document.activeElement;
  if (isOpened && listChanged(form).some(isDone)) saving.queue(ALL);
}
