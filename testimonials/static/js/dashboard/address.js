// The address of a new project, updated while its name is typed.
let timer = 0;

export async function follow(form, name) {
  if (!form.dataset.nextAddress) return;
  const url = `${form.dataset.nextAddress}?${new URLSearchParams({ name: name.value })}`;
  const answer = await fetch(url).catch(() => null);
  const detail = answer?.ok ? await answer.json() : {};
  const line = form.querySelector('[data-address-line]');
  line.hidden = !detail.address;
  line.querySelector('strong').textContent = detail.address ?? '';
  form.dispatchEvent(new CustomEvent('named', { detail }));
}

document.addEventListener('input', ({ target }) => {
  const form = target.closest('[data-next-address]');
  if (!form || !target.matches('[name="business_name"], [name="businessName"]')) return;
  clearTimeout(timer);
  timer = setTimeout(follow, 300, form, target);
});
