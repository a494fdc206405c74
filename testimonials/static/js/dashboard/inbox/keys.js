// The keys of the inbox, the list of them, and the switch that turns them off.
import { recall, remember } from '../../storage.js';
import { decide, undo } from './decisions.js';
import { current, inbox, move, pick } from './rows.js';

const STORE = 'testimonials-inbox-keys';
const dialog = document.getElementById('keys');
const keySwitch = document.querySelector('[data-keys-switch]');
const keyState = keySwitch.closest('label').querySelector('strong');
const on = keyState.textContent;
let areKeysOn = recall(STORE) !== 'off';

function showKeys() {
  document.documentElement.dataset.keys = areKeysOn ? 'on' : 'off';
  keySwitch.checked = areKeysOn;
  keyState.textContent = areKeysOn ? on : keyState.dataset.sayOff;
}
keySwitch.addEventListener('change', () => {
  areKeysOn = keySwitch.checked;
  remember(STORE, areKeysOn ? 'on' : 'off');
  showKeys();
});
document.querySelector('[data-keys-open]').addEventListener('click', () => dialog.showModal());
// A click beside the dialog lands on the dialog itself.
dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });

const isField = (element) => element.isContentEditable
  || element.matches?.('textarea, select, input:not([type="checkbox"], [type="radio"])');

// On a keyboard without Latin letters the key's place stands for its letter.
const letterOf = (event) => (!/^[ -~]/.test(event.key) && /^Key[A-Z]$/.test(event.code) ? event.code[3] : event.key).toLowerCase();

const undoLast = () => undo(document.querySelector('[data-undo-last]'));

document.addEventListener('keydown', (event) => {
  // As everywhere, also with the keys of the inbox switched off; a field has its own.
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && letterOf(event) === 'z'
    && !isField(event.target) && !dialog.open) {
    event.preventDefault();
    undoLast();
    return;
  }
  if (!areKeysOn || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  // Letters typed in an open menu are for what stands in it.
  if (dialog.open || isField(event.target) || event.target.closest('details[open]')) return;
  const key = letterOf(event);
  const row = current?.isConnected ? current : null;
  const link = row?.querySelector('[data-edit]');
  // A button or box under the focus has the space bar first.
  const player = event.target.closest('button, a, summary, input, video, audio') ? null : row?.querySelector('[data-play]');
  const todo = {
    j: () => move(1),
    k: () => move(-1),
    a: () => row && decide(row, 'approve'),
    r: () => row && decide(row, 'reject'),
    p: () => row && decide(row, row.querySelector('[data-pin]')?.value ?? 'pin'),
    s: () => row && decide(row, row.querySelector('[data-spam]')?.value ?? 'spam'),
    e: () => link && location.assign(link.href),
    x: () => row && pick(row, event.shiftKey),
    ' ': player && (() => player.click()),
    z: undoLast,
    '/': () => {
      inbox().querySelector('[data-filters]').open = true;
      inbox().querySelector('[data-search]').focus();
    },
    '?': () => dialog.showModal(),
  }[key];
  if (!todo) return;
  event.preventDefault();
  // A key held down must not decide about a whole list; moving may repeat.
  if (event.repeat && key !== 'j' && key !== 'k') return;
  todo();
});

showKeys();
