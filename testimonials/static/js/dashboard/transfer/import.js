// Importing works without this file: the page of a running import reloads by itself. With it the bar
// moves, and a file that is too large is refused before it is sent.
import { send, showProblem } from '../../post.js';
import { takeDropped } from '../dropping.js';

const SECOND = 1000;
const upload = document.querySelector('[data-upload]');
const watched = document.querySelector('[data-watch]');

if (upload) {
  const file = upload.elements.file;
  const problem = upload.querySelector('[data-problem]');
  const check = () => {
    const isTooLarge = file.files[0]?.size > Number(upload.dataset.maxBytes);
    showProblem(problem, isTooLarge ? upload.dataset.tooLarge : '', file);
    return isTooLarge;
  };
  // Chosen or dropped, a file is looked at at once.
  file.addEventListener('change', () => { if (!check() && file.files.length) upload.requestSubmit(); });
  upload.addEventListener('submit', (event) => {
    if (check()) event.preventDefault();
  });
  takeDropped(file.parentElement, (files) => {
    file.files = files;
    upload.requestSubmit();
  });
}

async function look() {
  try {
    const answer = await send(watched.dataset.watch, null, { method: 'GET' });
    const step = await answer.json();
    if (step.state !== 'running') location.reload();
    const bar = watched.querySelector('[data-progress]');
    bar.max = step.total || 1;
    bar.value = step.done;
    const told = watched.querySelector('[data-progress-text]');
    if (told.textContent !== step.text) told.textContent = step.text;
  } catch {
    // The line is gone for a moment; the import isn't.
  }
  setTimeout(look, SECOND);
}

if (watched) setTimeout(look, SECOND);
