// Reports what was seen and read on the wall, as the widget does on other pages.
import { watchSeen } from './pieces/seen.js';

const main = document.querySelector('[data-seen]');
const ids = main.dataset.ids.split(' ');
watchSeen({
  surface: 'wall',
  url: main.dataset.seen,
  cards: [...main.querySelectorAll('.card')].map((figure, i) => ({ figure, item: { id: ids[i] } })),
  root: document.body,
  signal: new AbortController().signal,
});
