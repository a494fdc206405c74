// The keys of the inbox, the list of them, and the switch that turns them off.
import { recall, remember } from '../../storage.js';
import { findUndo } from '../toast.js';
import { decide, idle } from './decisions.js';
import { current, inbox, move, pick } from './rows.js';

const STORE = 'testimonials-inbox-keys';
const dialog = document.getElementById('keys');
const keySwitch = document.querySelector('[data-keys-switch]');
let areKeysOn = recall(STORE) !== 'off';

function showKeys() {
  document.documentElement.dataset.keys = areKeysOn ? 'on' : 'off';
  keySwitch.checked = areKeysOn;
  keySwitch.closest('label').querySelector('strong').textContent = areKeysOn ? 'Keys are on' : 'Keys are off';
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

document.addEventListener('keydown', async (event) => {
  if (!areKeysOn || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  // Letters typed in an open menu are for what stands in it.
  if (dialog.open || isField(event.target) || event.target.closest('details[open]')) return;
  const key = letterOf(event);
  const row = current?.isConnected ? current : null;
  const link = row?.querySelector('[data-edit]');
  const todo = {
    j: () => move(1),
    k: () => move(-1),
    a: () => row && decide(row, 'approve'),
    r: () => row && decide(row, 'reject'),
    p: () => row && decide(row, row.querySelector('[data-pin]')?.value ?? 'pin'),
    s: () => row && decide(row, row.querySelector('[data-spam]')?.value ?? 'spam'),
    e: () => link && location.assign(link.href),
    x: () => row && pick(row, event.shiftKey),
    z: async () => {
      // The answer that brings Undo may still be on its way.
      await idle();
      findUndo()?.click();
    },
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
