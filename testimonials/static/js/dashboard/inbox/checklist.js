// The checklist works without this file; it remembers that it was folded, notes a copied link, and
// shows at once which steps are done.
import { offerCopies } from '../../copy.js';
import { post } from '../../post.js';
import { recall, remember } from '../../storage.js';

const KEY = 'testimonials-first-steps';
const find = (root) => root.querySelector('[data-first]');
const isFolding = (box) => box && !box.matches('[data-menu]');
if (isFolding(find(document)) && recall(KEY) === 'folded') find(document).open = false;

document.addEventListener('click', (event) => {
  const box = event.target.closest('[data-first]');
  if (isFolding(box) && event.target.closest('summary')) remember(KEY, box.open ? 'folded' : 'open');
});

async function refresh() {
  const response = await fetch(location.href, { headers: { Accept: 'text/html' } }).catch(() => null);
  if (!response?.ok || response.redirected) return;
  const fresh = find(new DOMParser().parseFromString(await response.text(), 'text/html'));
  const box = find(document);
  // The one stands where the other doesn't, so a list that ran empty needs the next page.
  if (!fresh || isFolding(fresh) !== isFolding(box)) return;
  fresh.open = box.open;
  box.replaceWith(fresh);
  offerCopies(fresh);
}

document.addEventListener('copied', async (event) => {
  const url = event.target.dataset.firstShare;
  if (url) await post(url, new URLSearchParams({ do: 'share' }), { keepalive: true }).then(refresh, () => {});
});
document.addEventListener('decided', () => { if (!find(document).querySelector('[data-step="approve"].is-done')) refresh(); });
// What was done on another page, to which Back returned.
addEventListener('pageshow', (event) => { if (event.persisted) refresh(); });
