// Polls for the first visit while the steps are open; without this file, reloading shows it.
import { send } from '../../post.js';

const EVERY_MS = 4000;

async function look(place) {
  const answer = await send(place.dataset.watch, undefined, { method: 'GET' });
  const seen = answer.ok && await answer.json();
  if (!seen || !place.isConnected) return Boolean(seen);
  place.querySelector('[data-watching]').hidden = true;
  place.querySelector('[data-seen-text]').textContent = seen.text;
  place.querySelector('[data-look]').href = seen.url;
  place.querySelector('.seen').hidden = false;
  return true;
}

async function watch(root) {
  const place = root.querySelector('[data-watch]');
  if (!place || place.querySelector('[data-watching]').hidden) return;
  while (place.isConnected) {
    // Not while the page is hidden.
    if (!document.hidden && await look(place).catch(() => false)) return;
    await new Promise((done) => { setTimeout(done, EVERY_MS); });
  }
}

document.addEventListener('dialog', ({ detail }) => watch(detail));
watch(document);
