// Stars first: the style sheet opens the rest once a star is chosen; this file keeps it open,
// announces that to screen readers, and adds Clear and the choice between writing and recording.
import { announce } from '../post.js';

export function setUpOpening(form, { isOpen, onClear }) {
  const find = (selector) => form.querySelector(selector);
  const rating = () => find('[name="rating"]:checked');
  const open = () => {
    if (!form.classList.contains('is-first') || form.classList.contains('is-opened')) return;
    form.classList.add('is-opened');
    announce(form.dataset.sayOpened);
  };
  if (isOpen || rating()) form.classList.add('is-opened');

  find('[data-open]')?.addEventListener('click', (event) => {
    event.preventDefault();
    open();
    form.elements.text.focus();
  });

  // For the stars, and for each question with a single choice.
  const clears = [...form.querySelectorAll('[data-clear]')];
  const chosen = (button) => find(`[name="${button.dataset.clear}"]:checked`);
  const showClear = () => { for (const button of clears) button.hidden = !chosen(button); };
  for (const button of clears) {
    button.addEventListener('click', () => {
      chosen(button).checked = false;
      showClear();
      onClear();
      find(`[name="${button.dataset.clear}"]`).focus();
    });
  }
  form.addEventListener('input', (event) => {
    if (event.target.name === 'rating') open();
    showClear();
  });
  setUpWays(form);
  return { open, showClear };
}

// The recorder listens for `way`, and may ask for one by setting `form.dataset.way` before it loads.
function setUpWays(form) {
  const ways = form.querySelector('[data-ways]');
  if (!ways) return;
  const buttons = [...ways.querySelectorAll('[data-way]')];
  const choose = (way) => {
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.way === way));
    form.classList.toggle('is-recording', way === 'record');
    form.dispatchEvent(new CustomEvent('way', { detail: way }));
  };
  ways.hidden = false;
  for (const button of buttons) button.addEventListener('click', () => choose(button.dataset.way));
  form.addEventListener('choose-way', (event) => choose(event.detail));
}
