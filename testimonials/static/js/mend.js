// An error disappears once the browser finds the field valid. What only the server can check, it
// reports again.

export const describedBy = (element) => (element.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean);
export function describe(element, ids) {
  if (ids.length) element.setAttribute('aria-describedby', ids.join(' '));
  else element.removeAttribute('aria-describedby');
}
const isError = (id) => id.endsWith('-error');

function take(element) {
  const ids = describedBy(element);
  for (const id of ids.filter(isError)) document.getElementById(id)?.remove();
  describe(element, ids.filter((id) => !isError(id)));
  element.removeAttribute('aria-invalid');
}

function shorten(summary, field, group) {
  for (const link of summary.querySelectorAll('a[href^="#"]')) {
    const target = document.getElementById(link.hash.slice(1));
    if (target && (target === field || group?.contains(target))) link.closest('li').remove();
  }
  const { length } = summary.querySelectorAll('li');
  const title = summary.querySelector('h2');
  title.textContent = summary.dataset[`title-${length}`] ?? title.textContent;
  if (length) return;
  summary.remove();
  const prefix = `${summary.dataset.error} `;
  if (document.title.startsWith(prefix)) document.title = document.title.slice(prefix.length);
}

document.addEventListener('input', ({ target: field }) => {
  const group = field.closest('fieldset[aria-describedby]');
  const wrong = [field, group].filter((each) => each && describedBy(each).some(isError));
  if (!wrong.length || !field.validity.valid || [...field.value.trim()].length > Number(field.dataset.limit)) return;
  wrong.forEach(take);
  const summary = document.querySelector('[data-error-summary]');
  if (summary) shorten(summary, field, group);
});
