// The message to send saves itself, and goes to whatever app the system offers.
import { save } from '../autosave.js';

function offer(root) {
  const form = root.querySelector('[data-message]');
  if (!form || form.dataset.offered) return;
  form.dataset.offered = 'yes';
  const field = form.elements.message;
  const mail = form.querySelector('[data-mail]');
  const share = form.querySelector('[data-share]');
  let timer = 0;
  field.addEventListener('input', () => {
    const body = field.value.replace(/\r?\n/g, '\r\n');
    mail.href = `mailto:?subject=${encodeURIComponent(mail.dataset.subject)}&body=${encodeURIComponent(body)}`;
    clearTimeout(timer);
    timer = setTimeout(() => save(form), 800);
  });
  if (!navigator.share) {
    form.querySelector('[data-copy]').classList.add('solid');
    return;
  }
  share.hidden = false;
  // Whoever closes the system's sheet has changed their mind.
  share.addEventListener('click', () => navigator.share({ text: field.value }).catch(() => {}));
}
offer(document);
document.addEventListener('dialog', ({ detail }) => offer(detail));
