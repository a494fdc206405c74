// Items that move in their list: dragged by a handle, or with Space, the arrow keys and Space again.
import { announce, fill } from '../../post.js';
import { drag, moveTo, placeOf } from '../dragging.js';

let lifted = null;

// Where the items' list is, below it, says what is being moved; a list without such a place says it
// to those who hear the page alone.
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

// Move an item by so many places, if there is room; tell where it is now.
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
    if (lifted) drop((moved) => tell(moved, 'sayDropped'));
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

// Make an item movable by its handle; `onMove` is called after each move that counts.
export function startHandle(item, onMove) {
  const handle = item.querySelector('[data-handle]');
  handle.hidden = false;
  handle.setAttribute('aria-pressed', 'false');
  handle.addEventListener('keydown', (event) => press(event, item, handle, onMove));
  // Space must not press the button as well; whoever presses it otherwise lifts the item too.
  handle.addEventListener('keyup', (event) => { if (event.key === ' ') event.preventDefault(); });
  handle.addEventListener('blur', () => { if (lifted?.handle === handle) drop((moved) => tell(moved, 'sayDropped')); });
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    drag(item, handle, event, () => { say(item, tell(item, 'sayMoved')); onMove(); });
  });
}
