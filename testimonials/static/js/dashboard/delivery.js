// Wait for the result of a test delivery, and show it.
import { offerCopies } from '../copy.js';
import { announce } from '../post.js';
import { readPage } from './pages.js';

async function watch(place, rounds = 15) {
  await new Promise((done) => { setTimeout(done, 1000); });
  const fresh = (await readPage(location))?.querySelector('.delivery');
  if (fresh && !('waiting' in fresh.dataset)) {
    place.replaceWith(document.adoptNode(fresh));
    offerCopies(fresh);
    announce(fresh.querySelector('.answer-line').textContent.trim());
  } else if (rounds > 1) watch(place, rounds - 1);
  else for (const link of place.querySelectorAll('.no-script')) link.classList.remove('no-script');
}
const waiting = document.querySelector('[data-waiting]');
if (waiting) watch(waiting);
