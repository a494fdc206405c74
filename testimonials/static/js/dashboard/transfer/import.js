// Importing works without this file: the page of a running import reloads. With it the progress bar
// moves, and a file that is too large is rejected before it is uploaded.
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
  // A chosen or dropped table is previewed at once; an archive, which has no preview, waits for the button.
  const take = () => { if (!check() && file.files.length && upload.dataset.upload) upload.requestSubmit(); };
  file.addEventListener('change', take);
  upload.addEventListener('submit', (event) => {
    if (check()) event.preventDefault();
  });
  takeDropped(file.parentElement, (files) => {
    file.files = files;
    take();
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
    // The connection was lost, but the import continues.
  }
  setTimeout(look, SECOND);
}

if (watched) setTimeout(look, SECOND);
