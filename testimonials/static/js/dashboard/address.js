// Where the page of a new project will be, while its name is typed: the next free address.
let timer = 0;

async function follow(form, name) {
  const url = `${form.dataset.nextAddress}?${new URLSearchParams({ name: name.value })}`;
  const answer = await fetch(url).catch(() => null);
  const { address } = answer?.ok ? await answer.json() : {};
  const line = form.querySelector('[data-address-line]');
  line.hidden = !address;
  line.querySelector('strong').textContent = address ?? '';
}

document.addEventListener('input', ({ target }) => {
  const form = target.closest('[data-next-address]');
  if (!form || target.name !== 'business_name') return;
  clearTimeout(timer);
  timer = setTimeout(follow, 300, form, target);
});
