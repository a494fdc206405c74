// Recordings in the inbox: playing them in their place, and transcripts that save themselves.
import { Failure, announce, post, showProblem } from '../../post.js';

// After so long without a letter.
const REST = 2500;
const waiting = new WeakMap();

function prepare() {
  for (const box of document.querySelectorAll('[data-recording]:not(.has-script)')) {
    box.classList.add('has-script');
    box.querySelector('video')?.removeAttribute('controls');
    box.querySelector('[data-play]').hidden = false;
  }
  for (const form of document.querySelectorAll('[data-transcript]')) form.classList.add('has-script');
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

async function save(form) {
  clearTimeout(waiting.get(form));
  waiting.delete(form);
  const state = form.querySelector('[data-saved]');
  const problem = form.querySelector('[data-said-problem]');
  state.textContent = state.dataset.saySaving;
  try {
    const answer = await post(form.action, new FormData(form));
    state.textContent = state.dataset.saySaved;
    showProblem(problem, '');
    document.dispatchEvent(new CustomEvent('said', { detail: answer }));
    const captions = form.querySelector('[data-captions]');
    if (answer.hasCaptions) captions.textContent = captions.dataset.sayReplace;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    state.textContent = state.dataset.sayFailed;
    showProblem(problem, error.message);
  }
  form.elements.captions.value = '';
}

document.addEventListener('input', (event) => {
  const form = event.target.closest('[data-transcript]');
  if (!form || event.target.name !== 'transcript') return;
  clearTimeout(waiting.get(form));
  waiting.set(form, setTimeout(save, REST, form));
  form.querySelector('[data-saved]').textContent = '';
});
document.addEventListener('change', (event) => {
  const form = event.target.closest('[data-transcript]');
  // A field tells of its change when it is left.
  if (form && (event.target.name !== 'transcript' || waiting.has(form))) save(form);
});
document.addEventListener('submit', (event) => {
  if (!event.target.matches('[data-transcript]')) return;
  event.preventDefault();
  save(event.target);
});
addEventListener('pagehide', () => {
  for (const form of document.querySelectorAll('[data-transcript]')) {
    if (waiting.has(form)) navigator.sendBeacon(form.action, new FormData(form));
  }
});

prepare();
// A decision brings new rows.
new MutationObserver(prepare).observe(document.body, { childList: true, subtree: true });
