// The message to customers saves itself; without a script it has a Save button.
import { fill, post } from '../../post.js';

const form = document.querySelector('[data-message]');
if (form) {
  const field = form.elements.message;
  const state = form.querySelector('[data-state]');
  const button = form.querySelector('[data-save]');
  const reset = form.querySelector('[data-reset]');
  const mail = form.querySelector('[data-mail]');
  const limit = Number(form.dataset.limit);
  const letters = () => [...field.value.trim()].length;
  // What the server refused is in the field, but not stored.
  let saved = field.hasAttribute('aria-invalid') ? null : field.value;
  let timer = 0;
  let busy = false;

  const say = (text, isWrong = false) => {
    state.textContent = text;
    state.classList.toggle('wrong', isWrong);
    // Saving by hand is offered where it didn't go by itself.
    button.classList.toggle('is-wanted', isWrong);
  };
  const address = () => {
    const body = field.value.replace(/\r?\n/g, '\r\n');
    mail.href = `mailto:?subject=${encodeURIComponent(form.dataset.subject)}&body=${encodeURIComponent(body)}`;
  };

  async function save(options = {}) {
    clearTimeout(timer);
    timer = 0;
    if (busy || field.value === saved) return;
    const count = letters();
    if (count > limit) {
      say(fill(form.dataset.sayTooLong, { more: count - limit, count, limit }), true);
      return;
    }
    busy = true;
    const text = field.value;
    try {
      const data = await post(form.action, new URLSearchParams({ message: text }), options);
      saved = text;
      reset.hidden = !data.is_own;
      if (field.value === text) {
        say(form.dataset.saySaved);
        field.removeAttribute('aria-invalid');
        document.getElementById('share-message-error')?.remove();
      }
    } catch (error) {
      say(fill(form.dataset.sayFailed, { reason: error.message }), true);
    } finally {
      busy = false;
    }
    // What was typed meanwhile goes next.
    if (field.value !== text) later();
  }
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(save, 600);
  };
  field.addEventListener('input', () => {
    say('');
    address();
    later();
  });
  form.addEventListener('submit', (event) => {
    if (event.submitter === reset) return;
    event.preventDefault();
    save();
  });
  // Leaving within the moment before it saves loses nothing.
  addEventListener('pagehide', () => { if (field.value !== saved && letters() <= limit) save({ keepalive: true }); });
  address();
}
