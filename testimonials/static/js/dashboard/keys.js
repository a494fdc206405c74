// Keys: G and a letter open a page, ? lists all keys. Pages add their own; a switch turns all off.
import { recall, remember } from '../storage.js';

const STORE = 'testimonials-keys';
const GO_MS = 1500;
const dialog = document.getElementById('all-keys');
const root = document.documentElement;
let goUntil = 0;

export const isField = (element) => element.isContentEditable
  || element.matches?.('textarea, select, input:not([type="checkbox"], [type="radio"])');
// On a keyboard without Latin letters the position of the key counts.
const letterOf = (event) => (!/^[ -~]/.test(event.key) && /^Key[A-Z]$/.test(event.code) ? event.code[3] : event.key).toLowerCase();
const areKeysOn = () => root.dataset.keys !== 'off';
const isTaken = (event) => event.isComposing || isField(event.target) || document.querySelector('dialog[open]');

// The letter of a key that is for the page: not with a modifier, in a field, beneath a dialog or with
// the keys turned off.
export function readKey(event) {
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  return isModified || isTaken(event) || !areKeysOn() ? '' : letterOf(event);
}

// Ctrl+Z works even with the keys turned off; fields have their own undo.
export const isUndo = (event) => (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey
  && letterOf(event) === 'z' && !isTaken(event);

root.dataset.keys = recall(STORE) === 'off' ? 'off' : 'on';
const keySwitch = dialog?.querySelector('[data-keys-on]');
const state = dialog?.querySelector('[data-keys-state]');
const on = state?.textContent;
function show() {
  keySwitch.checked = areKeysOn();
  state.textContent = areKeysOn() ? on : state.dataset.sayOff;
}
keySwitch?.addEventListener('change', () => {
  root.dataset.keys = keySwitch.checked ? 'on' : 'off';
  remember(STORE, root.dataset.keys);
  show();
});

dialog?.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });

// Captured before the page's keys, which must not get the letter after G.
document.addEventListener('keydown', (event) => {
  if (!dialog || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (isTaken(event) || event.target.closest('details[open]')) return;
  const key = letterOf(event);
  const place = event.timeStamp < goUntil ? document.querySelector(`[data-go="${CSS.escape(key)}"]`) : null;
  goUntil = 0;
  if (place && areKeysOn()) {
    event.preventDefault();
    event.stopImmediatePropagation();
    place.click();
  } else if (key === 'g' && areKeysOn()) {
    goUntil = event.timeStamp + GO_MS;
  } else if (key === '?') {
    event.preventDefault();
    show();
    dialog.showModal();
  }
}, true);

// A key that presses a button or a link, or opens a row, of the page.
document.addEventListener('keydown', (event) => {
  const key = readKey(event);
  const control = key && !event.repeat && document.querySelector(`[data-key="${CSS.escape(key)}"]:not([hidden])`);
  if (!control) return;
  event.preventDefault();
  control.click();
  // Continue with what it opens.
  if (control.matches('summary')) control.focus();
});
