// The checklist works without this file; it remembers that it was folded, and notes a copied link.
const box = document.querySelector('[data-first]');
const key = 'testimonials-first-steps';
const store = {
  read() { try { return localStorage.getItem(key); } catch { return null; } },
  write(value) { try { localStorage.setItem(key, value); } catch { /* it opens again then */ } },
};
if (store.read() === 'folded') box.open = false;
box.querySelector('summary').addEventListener('click', () => store.write(box.open ? 'folded' : 'open'));

box.addEventListener('copied', (event) => {
  const url = event.target.dataset.firstShare;
  if (url) fetch(url, { method: 'POST', body: new URLSearchParams({ do: 'share' }), headers: { Accept: 'application/json' }, keepalive: true }).catch(() => {});
});
