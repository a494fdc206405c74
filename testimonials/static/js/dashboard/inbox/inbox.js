// The inbox works without this file: every button is a plain form. With it a decision leaves at
// once, keys work, and Undo brings back what was decided.
import { decide, hasJustDecided, idle, isBusy, undo } from './decisions.js';
import { anchor, inbox, pick, picks, setAnchor, setCurrent, setUp, showSelection } from './rows.js';
import { showToast } from '../toast.js';
import './filters.js';
import './keys.js';

async function copy(link) {
  try {
    await navigator.clipboard.writeText(link.href);
    showToast(link.dataset.sayCopied);
  } catch {
    open(link.href, '_blank', 'noopener');
  }
}

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.matches('[data-decide]') && event.submitter?.name === 'action') {
    event.preventDefault();
    form.querySelector('details[open]')?.removeAttribute('open');
    decide(form.closest('[data-item]'), event.submitter.value);
  } else if (form.matches('[data-undo]')) {
    event.preventDefault();
    undo(form);
  } else if (form.matches('[data-bulk]') && isBusy()) {
    // The page that comes next must already know the decisions before it.
    event.preventDefault();
    const { submitter } = event;
    idle().then(() => form.requestSubmit(submitter));
  }
});

document.addEventListener('click', (event) => {
  if (event.detail && hasJustDecided() && event.target.closest('[data-decide] [name="action"]')) event.preventDefault();
  if (event.target.closest('[data-none]')) {
    for (const box of picks()) box.checked = false;
    showSelection();
    inbox().querySelector('[data-master]').focus();
  }
  // At once, so that what is typed next is the tag and decides about nothing.
  const tagging = event.target.closest('.tagging > summary');
  if (tagging && !tagging.parentElement.open) {
    event.preventDefault();
    tagging.parentElement.open = true;
    document.getElementById('new-tag').focus();
  }
  const link = event.target.closest('[data-copy-link]');
  if (link && navigator.clipboard) {
    event.preventDefault();
    link.closest('details').open = false;
    copy(link);
  }
  const box = event.target.closest('[data-pick]');
  if (box) {
    const row = box.closest('[data-item]');
    if (event.shiftKey && anchor && box.checked) pick(row, true);
    setAnchor(row);
  }
});

document.addEventListener('change', (event) => {
  const { target } = event;
  if (target.matches('[data-master]')) for (const box of picks()) box.checked = target.checked;
  if (target.matches('[data-all]')) for (const box of picks()) box.checked = target.checked;
  if (target.matches('[data-pick], [data-master], [data-all]')) showSelection();
});

document.addEventListener('focusin', (event) => {
  const row = event.target.closest?.('[data-item]');
  if (row) setCurrent(row, false);
});

setUp();
