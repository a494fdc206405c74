// Reordering items of a list: by dragging a handle, or with Space, the arrow keys and Space again.
import { announce, fill } from '../../post.js';
import { drag, moveTo, placeOf } from '../dragging.js';

let lifted = null;

// Say what is being moved below the list, or only to screen readers if it has no place for that.
function say(item, text) {
  const note = item.closest('.part-body').querySelector('[data-move-note]');
  if (note && item.matches('[data-item]')) note.textContent = text;
  else announce(text);
}

const tell = (item, name) => fill(item.closest('[data-editor]').dataset[name], { place: placeOf(item) + 1, count: item.parentElement.children.length });

function drop(text) {
  const { item, handle, onMove, start } = lifted;
  lifted = null;
  item.classList.remove('is-lifted');
  handle.setAttribute('aria-pressed', 'false');
  say(item, text(item));
  if (placeOf(item) !== start) onMove();
}

function lift(item, handle, onMove) {
  lifted = { item, handle, onMove, start: placeOf(item) };
  item.classList.add('is-lifted');
  handle.setAttribute('aria-pressed', 'true');
  say(item, tell(item, 'sayMoving'));
}

// Move an item by `by` places, if there is room, and announce its place.
export function step(item, by) {
  const target = placeOf(item) + by;
  if (!item.parentElement.children[target]) return false;
  moveTo(item, target);
  item.scrollIntoView({ block: 'nearest' });
  say(item, tell(item, lifted ? 'sayMoving' : 'sayMoved'));
  return true;
}

function press(event, item, handle, onMove) {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.key === ' ' || event.key === 'Enter') {
    if (lifted) drop((moved) => tell(moved, 'sayMoved'));
    else lift(item, handle, onMove);
  } else if (by && lifted) {
    step(item, by);
  } else if (event.key === 'Escape' && lifted) {
    moveTo(item, lifted.start);
    drop((moved) => tell(moved, 'sayPutBack'));
  } else {
    return;
  }
  event.preventDefault();
}

// Make an item movable by its handle; `onMove` is called after each move to another place.
export function startHandle(item, onMove) {
  const handle = item.querySelector('[data-handle]');
  handle.hidden = false;
  handle.setAttribute('aria-pressed', 'false');
  handle.addEventListener('keydown', (event) => press(event, item, handle, onMove));
  // Space must not click the button too.
  handle.addEventListener('keyup', (event) => { if (event.key === ' ') event.preventDefault(); });
  handle.addEventListener('blur', () => { if (lifted?.handle === handle) drop((moved) => tell(moved, 'sayMoved')); });
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    drag(item, handle, event, () => { say(item, tell(item, 'sayMoved')); onMove(); });
  });
}
