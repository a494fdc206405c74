// Draws each look with the real widget, whose requests are answered here. Without this file the looks
// are only names.
import { fill } from '../../post.js';

const form = document.querySelector('[data-gallery]');
const { feed, drawn } = JSON.parse(document.getElementById('gallery').textContent);
// Some small shapes show fewer testimonials.
const SHOWN = { single: 1, popup: 5 };

const goOut = window.fetch.bind(window);
window.fetch = (input, options) => {
  const url = new URL(input, location);
  const name = url.searchParams.get('widget');
  if (!url.pathname.endsWith('/feed') || !drawn[name]) return goOut(input, options);
  const items = feed.items.slice(0, SHOWN[name]);
  return Promise.resolve(Response.json({ ...feed, ...drawn[name], widget: name, items, total: items.length }));
};

if (form.dataset.ground) form.style.setProperty('--ground', form.dataset.ground);

// A pop-up, which comes and goes on a website, stays here.
document.addEventListener('testimonials:ready', ({ target }) => {
  if (target.dataset.testimonialsWidget !== 'popup') return;
  const waits = () => target.shadowRoot.querySelector('.tm').getAnimations();
  for (const each of waits()) each.finish();
  requestAnimationFrame(() => requestAnimationFrame(() => waits().forEach((each) => { each.playbackRate = 0; })));
});

const button = form.querySelector('[data-use]');
const name = () => {
  const chosen = form.querySelector(':checked');
  if (chosen) button.textContent = fill(button.dataset.say, { look: chosen.dataset.title });
};
form.addEventListener('change', name);
name();
