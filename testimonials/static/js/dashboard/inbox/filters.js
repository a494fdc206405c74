// Filters apply at once: the list is replaced, and the field keeps the focus.
import { announce } from '../../post.js';
import { readPage } from '../pages.js';
import { idle } from './decisions.js';
import { inbox, rows, setUp } from './rows.js';

let round = 0;
let timer = 0;

function read(form) {
  const values = [...new FormData(form)].filter(([, value]) => value);
  return `${form.getAttribute('action')}?${new URLSearchParams(values)}`;
}

async function apply(form) {
  const mine = ++round;
  const url = read(form);
  // Pending decisions must not reappear.
  await idle();
  const page = await readPage(url);
  if (mine !== round) return;
  const found = page?.getElementById('inbox');
  if (!found) { location.assign(url); return; }
  history.replaceState(null, '', url);
  inbox().replaceWith(found);
  setUp();
  announce(inbox().querySelector('[data-empty] h2')?.textContent ?? String(rows().length));
}

document.addEventListener('input', (event) => {
  const { form } = event.target;
  if (!form?.matches('[data-filter-form]')) return;
  clearTimeout(timer);
  timer = setTimeout(() => apply(form), event.target.matches('select') ? 0 : 250);
});
document.addEventListener('submit', (event) => {
  if (!event.target.matches('[data-filter-form]')) return;
  event.preventDefault();
  clearTimeout(timer);
  apply(event.target);
});
document.addEventListener('toggle', ({ target }) => {
  if (target.matches?.('[data-opens-field]') && target.open) target.querySelector('input').focus();
}, true);
