// Every form here is a page of its own; with this file they open as dialogs.
import { offerCopies } from '../../copy.js';
import { announce } from '../../post.js';
import '../share/tabs.js';

const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button);

function show(content) {
  const dialog = document.createElement('dialog');
  dialog.className = 'dialog';
  // The page has its own first heading.
  const head = document.createElement('div');
  head.className = 'dialog-head';
  head.innerHTML = '<h2 id="dialog-title"></h2><button class="icon-button" type="button" aria-label="Close" data-dialog-close>'
    + '<svg class="icon" aria-hidden="true" focusable="false"><use href="#i-cross"/></svg></button>';
  const title = content.querySelector('h1');
  head.querySelector('h2').append(...title.childNodes);
  title.replaceWith(head);
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  dialog.append(content);
  dialog.addEventListener('click', (event) => {
    if (!event.target.closest('[data-dialog-close]')) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  content.querySelector('input:not([type="hidden"]), a, .button')?.focus();
  offerCopies(dialog);
}

// A test was asked for a moment ago: show what comes of it as soon as it has left.
async function watch(place, rounds = 15) {
  await new Promise((done) => { setTimeout(done, 1000); });
  const answer = await fetch(location, { headers: { Accept: 'text/html' } }).catch(() => null);
  const page = new DOMParser().parseFromString(answer?.ok ? await answer.text() : '', 'text/html');
  const fresh = page.querySelector('[data-dialog-content]');
  if (fresh && !('waiting' in fresh.dataset)) {
    place.replaceWith(document.adoptNode(fresh));
    offerCopies(fresh);
    announce(fresh.querySelector('.answer-line').textContent.trim());
  } else if (rounds > 1) watch(place, rounds - 1);
  else for (const link of place.querySelectorAll('.no-script')) link.classList.remove('no-script');
}
const waiting = document.querySelector('[data-waiting]');
if (waiting) watch(waiting);

document.addEventListener('click', async (event) => {
  const link = event.target.closest('a[data-dialog]');
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  try {
    const answer = await fetch(link.href, { headers: { Accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    show(document.adoptNode(page.querySelector('[data-dialog-content]')));
  } catch {
    // Whatever is wrong, the page says it.
    location.assign(link.href);
  }
});
