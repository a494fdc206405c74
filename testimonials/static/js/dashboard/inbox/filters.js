// Filters apply at once: what they find takes the list's place, and the field keeps the focus.
import { announce } from '../../post.js';
import { idle } from './decisions.js';
import { inbox, setUp } from './rows.js';

const PARTS = ['clear', 'found'];
let round = 0;
let timer = 0;

function read(form) {
  const values = [...new FormData(form)].filter(([, value]) => value);
  return `${form.getAttribute('action')}?${new URLSearchParams(values)}`;
}

async function apply(form) {
  const mine = ++round;
  const url = read(form);
  // What was decided and not yet answered must not come back.
  await idle();
  const response = await fetch(url, { headers: { Accept: 'text/html' } }).catch(() => null);
  if (mine !== round) return;
  const page = response?.ok && !response.redirected
    ? new DOMParser().parseFromString(await response.text(), 'text/html') : null;
  if (mine !== round) return;
  if (!page?.getElementById('inbox')) { location.assign(url); return; }
  history.replaceState(null, '', url);
  for (const name of PARTS) {
    const found = page.querySelector(`[data-part="${name}"]`);
    inbox().querySelector(`[data-part="${name}"]`).replaceWith(found);
  }
  setUp();
  announce(inbox().querySelector('[data-rest], [data-empty] h2').textContent);
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
