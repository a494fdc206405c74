// Share the message by the system's dialog.
function offer(root) {
  const form = root.querySelector('[data-message]');
  if (!form || form.dataset.offered) return;
  form.dataset.offered = 'yes';
  const field = form.elements.message;
  const mail = form.querySelector('[data-mail]');
  const share = form.querySelector('[data-share]');
  field.addEventListener('input', () => {
    const body = field.value.replace(/\r?\n/g, '\r\n');
    mail.href = `mailto:?subject=${encodeURIComponent(mail.dataset.subject)}&body=${encodeURIComponent(body)}`;
  });
  if (!navigator.share) {
    form.querySelector('[data-copy]').classList.add('solid');
    return;
  }
  share.hidden = false;
  // The person closed the dialog.
  share.addEventListener('click', () => navigator.share({ text: field.value }).catch(() => {}));
}
offer(document);
document.addEventListener('dialog', ({ detail }) => offer(detail));
