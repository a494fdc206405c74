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

// By default, a choice is as stored on the server.
function keepChoices(form) {
  for (const field of form.elements) {
    if ('checked' in field) field.defaultChecked = field.checked;
    for (const option of field.options ?? []) option.defaultSelected = option.selected;
  }
}
function resetChoices(form) {
  for (const field of form.elements) {
    if ('checked' in field) field.checked = field.defaultChecked;
    for (const option of field.options ?? []) option.selected = option.defaultSelected;
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
  const tell = (type, detail) => form.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
  function toBody() {
    const body = new FormData(form);
    // A file is sent only once.
    for (const field of form.elements) if (isFile(field)) field.value = '';
    return form.enctype === 'multipart/form-data' ? body : new URLSearchParams(body);
  }
  const saving = startSaving(form.getAttribute('action'), toBody, {
    onStored(data) {
      keepChoices(form);
      tell('saved', data);
    },
    onFailed(failure) {
      saving.drop(ALL);
      resetChoices(form);
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
// On a slow connection, save what was changed before this file was loaded; but not what the browser
// restores after a reload.
const isOpened = performance.getEntriesByType('navigation')[0]?.type === 'navigate';
for (const form of document.querySelectorAll('form[data-autosave]')) {
  const saving = savingOf(form);
  const isDone = (field) => isChoice(field) || isFile(field) || field !== document.activeElement;
  if (isOpened && listChanged(form).some(isDone)) saving.queue(ALL);
}
