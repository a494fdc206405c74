// A form with data-autosave sends itself when something in it changed. Without this file its button
// does. A choice that is refused goes back to what it was.
import { post } from '../post.js';
import { showToast } from './toast.js';

const SAID_MS = 5000;
const said = document.querySelector('[data-toasts]')?.dataset.saySaved;
let lastSaid = -Infinity;

function say() {
  if (performance.now() - lastSaid < SAID_MS) return;
  lastSaid = performance.now();
  showToast(said);
}

const isChoice = (field) => field.type === 'checkbox' || field.type === 'radio' || field.localName === 'select';

// What a choice was before the change, as the server has it.
const kept = new WeakMap();
const read = (form) => [...form.elements].filter(isChoice)
  .map((field) => [field, field.localName === 'select' ? field.value : field.checked]);
function putBack(form) {
  for (const [field, value] of kept.get(form) ?? []) {
    if (field.localName === 'select') field.value = value; else field.checked = value;
  }
}

// Send the form, one request after the other, so that the last change is the one that is kept.
const queues = new WeakMap();
export function save(form) {
  const body = new FormData(form);
  const next = (queues.get(form) ?? Promise.resolve()).then(async () => {
    try {
      const data = await post(form.getAttribute('action'), form.enctype === 'multipart/form-data' ? body : new URLSearchParams(body));
      kept.set(form, read(form));
      form.dispatchEvent(new CustomEvent('saved', { bubbles: true, detail: data }));
      say();
    } catch (failure) {
      putBack(form);
      showToast(failure.message);
      form.dispatchEvent(new CustomEvent('refused', { bubbles: true, detail: failure }));
    }
  });
  queues.set(form, next);
  return next;
}

document.addEventListener('change', ({ target }) => {
  const { form } = target;
  if (form?.matches('[data-autosave]')) save(form);
});
document.addEventListener('submit', (event) => {
  if (!event.target.matches('[data-autosave]')) return;
  event.preventDefault();
  save(event.target);
});
// Before the first change of a form, what it shows is what is kept.
document.addEventListener('focusin', ({ target }) => {
  const form = target.form;
  if (form?.matches('[data-autosave]') && !kept.has(form)) kept.set(form, read(form));
});

// On a slow line something may be changed before this file comes: it is sent as well. What a browser
// puts back into fields after a reload isn't a change.
function isChanged(field) {
  if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked;
  if (field.type === 'file') return field.files.length > 0;
  return field.type.startsWith('text') && field.value !== field.defaultValue && field !== document.activeElement;
}
const isOpened = performance.getEntriesByType('navigation')[0]?.type === 'navigate';
for (const form of document.querySelectorAll('form[data-autosave]')) {
  kept.set(form, read(form));
  if (isOpened && [...form.elements].some(isChanged)) save(form);
}
