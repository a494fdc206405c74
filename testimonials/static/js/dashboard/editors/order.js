// Ordering by dragging and by the arrow keys. Without this file the buttons of each line do it.
import { announce, Failure, fill, post } from '../../post.js';
import { showToast } from '../toast.js';
import { drag, moveTo, placeOf } from './dragging.js';

const form = document.querySelector('[data-order-form]');
const list = form?.querySelector('[data-order-list]');

let saving = Promise.resolve();
// One after the other, so that the last order is the one that stays.
function save() {
  const body = new URLSearchParams({ do: 'arrange', widget: form.elements.widget.value });
  for (const item of list.children) body.append('ids', item.dataset.id);
  saving = saving.then(() => post(form.action, body)).catch((error) => {
    if (!(error instanceof Failure)) throw error;
    showToast(fill(list.dataset.sayFailed, { reason: error.message }));
  });
}

function tell(item) {
  announce(fill(list.dataset.sayPlace, { name: item.dataset.name, place: placeOf(item) + 1, count: list.children.length }));
}

function step(item, by) {
  const place = placeOf(item) + by;
  if (!list.children[place]) return;
  moveTo(item, place);
  item.scrollIntoView({ block: 'nearest' });
  tell(item);
  save();
}

for (const item of list?.children ?? []) {
  const handle = item.querySelector('[data-handle]');
  handle.hidden = false;
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    drag(item, handle, event, () => { tell(item); save(); });
  });
  handle.addEventListener('keydown', (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    step(item, by);
  });
}

form?.addEventListener('submit', (event) => {
  const by = { up: -1, down: 1 }[event.submitter?.value.split(' ')[0]];
  if (!by) return;
  event.preventDefault();
  step(event.submitter.closest('li'), by);
});
