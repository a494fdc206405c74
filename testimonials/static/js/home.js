// The widget on the front page. Its own script runs unchanged after this file: it requests its
// data, and gets the samples with the look being tried.

const stage = document.querySelector('[data-stage]');
const place = stage.querySelector('[data-place]');
const controls = stage.querySelector('form');
const { feed, colours } = JSON.parse(document.getElementById('widget').textContent);
const project = feed.project.id;

const dark = matchMedia('(prefers-color-scheme: dark)');
controls.elements.dark.checked = dark.matches;

const goOut = window.fetch.bind(window);
window.fetch = (input, options) => {
  if (!new URL(input, location).pathname.endsWith(`/widget/${project}/feed`)) return goOut(input, options);
  const { palette, layout, dark: isDark } = controls.elements;
  const look = layout.value;
  const config = { ...feed.config, palette: palette.value, layout: look, theme: isDark.checked ? 'dark' : 'light' };
  return Promise.resolve(Response.json({ ...feed, config, colours: colours[palette.value], draw: `${look} face cards looks ${look}` }));
};

// The look of a running widget can't be changed, so a new one replaces it once it is drawn.
const first = place.firstElementChild;
let next = null;
let shown = first;
function draw() {
  stage.dataset.theme = controls.elements.dark.checked ? 'dark' : 'light';
  next?.remove();
  next = first.cloneNode(true);
  next.className = 'is-next';
  next.dataset.testimonialsProject = project;
  place.append(next);
}
document.addEventListener('testimonials:ready', (event) => {
  if (event.target !== next) return;
  shown.remove();
  next.className = '';
  shown = next;
  next = null;
});
controls.hidden = false;
controls.addEventListener('change', draw);
dark.addEventListener('change', () => { controls.elements.dark.checked = dark.matches; draw(); });
controls.addEventListener('submit', (event) => event.preventDefault());
draw();
