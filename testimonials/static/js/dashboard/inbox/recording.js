// Recordings in the inbox, which are played in place.
import { announce } from '../../post.js';

function prepare() {
  for (const box of document.querySelectorAll('[data-recording]:not(.has-script)')) {
    box.classList.add('has-script');
    box.querySelector('video')?.removeAttribute('controls');
    box.querySelector('[data-play]').hidden = false;
  }
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-play]');
  if (!button) return;
  const box = button.closest('[data-recording]');
  const media = box.querySelector('video, audio');
  if (!media.paused) {
    media.pause();
    return;
  }
  for (const other of document.querySelectorAll('[data-recording] :is(video, audio)')) other.pause();
  if (media.matches('video')) {
    box.classList.add('is-playing');
    media.controls = true;
    if (document.activeElement === button) media.focus();
  }
  media.play().catch(() => announce(box.dataset.sayUnplayable));
});

prepare();
// A decision loads new rows.
new MutationObserver(prepare).observe(document.body, { childList: true, subtree: true });
