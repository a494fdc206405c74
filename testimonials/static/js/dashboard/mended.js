// A change removes a field's error, unless it is required and still empty. The server checks again.

export const describedBy = (element) => (element.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean);
export function describe(element, ids) {
  if (ids.length) element.setAttribute('aria-describedby', ids.join(' '));
  else element.removeAttribute('aria-describedby');
}

function take(element) {
  const ids = describedBy(element);
  const wrong = ids.filter((id) => id.endsWith('-error'));
  if (!wrong.length) return;
  describe(element, ids.filter((id) => !wrong.includes(id)));
  element.removeAttribute('aria-invalid');
  for (const id of wrong) document.getElementById(id)?.remove();
}

function shorten(summary, field) {
  const group = field.closest('fieldset');
  for (const link of summary.querySelectorAll('a[href^="#"]')) {
    const target = document.getElementById(link.hash.slice(1));
    if (target && (target === field || group?.contains(target))) link.closest('li').remove();
  }
  if (summary.querySelector('li')) return;
  const prefix = `${summary.dataset.error} `;
  summary.remove();
  if (document.title.startsWith(prefix)) document.title = document.title.slice(prefix.length);
}

document.addEventListener('input', ({ target: field }) => {
  const group = field.closest('fieldset[aria-describedby]');
  const isWrong = [field, group].some((each) => each && describedBy(each).some((id) => id.endsWith('-error')));
  if (!isWrong || (field.required && !field.value.trim())) return;
  take(field);
  if (group) take(group);
  const summary = document.querySelector('[data-error-summary]');
  if (summary) shorten(summary, field);
});
