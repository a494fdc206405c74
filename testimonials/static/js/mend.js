// An error goes when it is mended: once a field that was refused holds something else that the
// browser finds no fault with. What only the server knows, it says again.

const valueOf = (field) => (field.type === 'checkbox' || field.type === 'radio' ? field.checked : field.value);

export function watchErrors(form) {
  const summary = form.querySelector('[data-error-summary]');
  for (const error of form.querySelectorAll('.field-error[id$="-error"]')) {
    const place = error.closest('.field, fieldset');
    const fields = [...place.querySelectorAll('input, textarea, select')];
    const before = fields.map(valueOf);
    const listen = () => {
      const isSame = fields.every((field, index) => valueOf(field) === before[index]);
      const isLong = fields.some((field) => [...field.value.trim()].length > Number(field.dataset.limit ?? Infinity));
      if (isSame || isLong || !fields.every((field) => field.validity.valid)) return;
      place.removeEventListener('input', listen);
      for (const field of fields) field.removeAttribute('aria-invalid');
      error.remove();
      strike(summary, fields);
    };
    place.addEventListener('input', listen);
  }
}

function strike(summary, fields) {
  for (const link of summary?.querySelectorAll('a') ?? []) {
    if (fields.some((field) => `#${field.id}` === link.hash)) link.closest('li').remove();
  }
  const left = summary?.querySelectorAll('li').length;
  if (!left) summary?.remove();
  else summary.querySelector('h2').textContent = summary.dataset[`title-${left}`] ?? '';
}
