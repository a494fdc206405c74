// The inbox works without this file: every button is a plain form. With it decisions are immediate,
// keys work, and Undo restores rows.
import { isUndo, readKey } from '../keys.js';
import { keepList } from './list.js';
import { askWhy, closeWhy, decide, hasJustDecided, idle, isBusy, undo } from './decisions.js';
import { anchor, current, inbox, move, pick, pickAll, ROW, rows, setAnchor, setCurrent, setUp, showSelection } from './rows.js';
import { showToast } from '../toast.js';
import './filters.js';

async function copy(link) {
  try {
    await navigator.clipboard.writeText(link.href);
    showToast(link.dataset.sayCopied);
  } catch {
    open(link.href, '_blank', 'noopener');
  }
}

function leaveWhy(row) {
  closeWhy(row);
  setCurrent(row);
}

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.matches('[data-decide]') && event.submitter?.name === 'action') {
    event.preventDefault();
    form.querySelector('details[open]')?.removeAttribute('open');
    decide(form.closest('[data-item]'), event.submitter.value);
  } else if (form.matches('[data-reasons]')) {
    event.preventDefault();
    decide(form.closest('[data-item]'), form.elements.action.value, event.submitter.value);
  } else if (form.matches('[data-undo]')) {
    event.preventDefault();
    undo(form);
  } else if (form.matches('[data-bulk]') && isBusy()) {
    // The next page must include the decisions before it.
    event.preventDefault();
    const { submitter } = event;
    idle().then(() => form.requestSubmit(submitter));
  }
});

document.addEventListener('click', (event) => {
  if (event.detail && hasJustDecided() && event.target.closest('[data-decide] [name="action"]')) event.preventDefault();
  if (event.target.closest('[data-every]')) pickAll(true);
  if (event.target.closest('[data-none]')) {
    pickAll(false);
    if (current) setCurrent(current);
  }
  const more = event.target.closest('[data-more]');
  if (more) {
    more.previousElementSibling.classList.add('is-whole');
    setCurrent(more.closest('[data-item]'));
  }
  const why = event.target.closest('[data-why]');
  if (why) {
    event.preventDefault();
    why.closest('details').open = false;
    askWhy(why.closest('[data-item]'), why.dataset.why);
    return;
  }
  if (event.target.closest('[data-no-why]')) leaveWhy(event.target.closest('[data-item]'));
  const link = event.target.closest('[data-copy-link]');
  if (link && navigator.clipboard) {
    event.preventDefault();
    link.closest('details').open = false;
    copy(link);
  }
  const box = event.target.closest('[data-pick]');
  if (box) {
    const row = box.closest('[data-item]');
    if (event.shiftKey && anchor && box.checked) pick(row, true);
    setAnchor(row);
  }
  if (event.target.closest('[data-item] a[href]')) keepList(rows().map((row) => row.id.slice(2)));
});

document.addEventListener('change', ({ target }) => {
  if (target.matches('[data-all]')) pickAll(target.checked);
  if (target.matches('[data-pick]')) showSelection();
});

document.addEventListener('focusin', (event) => {
  const row = event.target.closest?.(ROW);
  if (row) setCurrent(row, false);
});

// A long press starts a selection; further taps change it.
const PRESS_MS = 500;
let press = 0;
const endPress = () => clearTimeout(press);
document.addEventListener('pointerdown', (event) => {
  const row = event.target.closest('[data-item]');
  if (!row || event.pointerType !== 'touch' || event.target.closest('button, summary, input, video, audio')) return;
  press = setTimeout(() => {
    pick(row, false);
    getSelection().removeAllRanges();
    addEventListener('click', (after) => after.preventDefault(), { capture: true, once: true });
  }, PRESS_MS);
});
for (const type of ['pointerup', 'pointercancel', 'pointermove', 'scroll']) document.addEventListener(type, endPress, { passive: true });
document.addEventListener('contextmenu', (event) => {
  if (inbox().matches('.is-selecting') && event.target.closest('[data-item]')) event.preventDefault();
});

/* ------------------------------------------------------------------ keys */

// A proposal must be opened first, so that nobody accepts it unseen.
function answer(proposal, decision) {
  const details = proposal?.querySelector('details');
  if (details?.open) details.querySelector(`[value="${decision}"]`)?.click();
  else if (details) details.open = true;
}

const undoLast = () => undo(document.querySelector('[data-undo-last]'));

document.addEventListener('keydown', (event) => {
  if (isUndo(event)) {
    event.preventDefault();
    undoLast();
    return;
  }
  const asked = event.target.closest('[data-reasons]')?.closest('[data-item]');
  if (event.key === 'Escape' && asked) leaveWhy(asked);
  const key = readKey(event);
  // Letters typed in an open menu are for the menu.
  if (!key || event.target.closest('details[open]')) return;
  const at = current?.isConnected ? current : null;
  const row = at?.matches('[data-item]') ? at : null;
  // A focused button or checkbox gets the space bar.
  const player = event.target.closest('button, a, summary, input, video, audio') ? null : row?.querySelector('[data-play]');
  const todo = {
    j: () => move(1),
    k: () => move(-1),
    a: () => (row ? decide(row, 'approve') : answer(at, 'accepted')),
    r: () => (row ? decide(row, 'reject') : answer(at, 'declined')),
    s: () => row && askWhy(row, 'set-aside'),
    p: () => row && decide(row, row.querySelector('[data-pin]')?.value ?? 'pin'),
    e: () => at?.querySelector('[data-edit]')?.click(),
    x: () => row && pick(row, event.shiftKey),
    ' ': player && (() => player.click()),
    z: undoLast,
    '/': () => document.querySelector('[data-opens-field] > summary').click(),
  }[key];
  if (!todo) return;
  event.preventDefault();
  // A held key must not decide a whole list, but may move through it.
  if (event.repeat && key !== 'j' && key !== 'k') return;
  todo();
});

setUp();
