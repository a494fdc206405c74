// Keys: G and a letter open a page, ? lists all keys. Pages add their own; a switch turns all off.
import { recall, remember } from '../storage.js';

const STORE = 'testimonials-keys';
const GO_MS = 1500;
const dialog = document.getElementById('all-keys');
const root = document.documentElement;
let goUntil = 0;

export const areKeysOn = () => root.dataset.keys !== 'off';
export const isField = (element) => element.isContentEditable
  || element.matches?.('textarea, select, input:not([type="checkbox"], [type="radio"])');
// On a keyboard without Latin letters the position of the key counts.
export const letterOf = (event) => (!/^[ -~]/.test(event.key) && /^Key[A-Z]$/.test(event.code) ? event.code[3] : event.key).toLowerCase();

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

export function showKeys() {
  show();
  dialog.showModal();
}
dialog?.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
document.addEventListener('click', (event) => { if (event.target.closest('[data-all-keys]')) showKeys(); });

// Captured before the page's keys, which must not get the letter after G.
document.addEventListener('keydown', (event) => {
  if (!dialog || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (isField(event.target) || document.querySelector('dialog[open]') || event.target.closest('details[open]')) return;
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
    showKeys();
  }
}, true);
