// The pictures of the page, uploaded once chosen or dropped; and the cover's focal point.
import { fill, post, showProblem } from '../../post.js';
import { takeFile } from '../dropping.js';

function startPicture(field, onChange) {
  const [file, choose, remove, problem, now] = ['file', 'choose', 'remove', 'problem', 'now'].map((name) => field.querySelector(`[data-picture-${name}]`));
  const most = Number(field.dataset.megabytes);

  function refuse(text) {
    showProblem(problem, text);
    if (text) choose.setAttribute('aria-describedby', problem.id);
    else choose.removeAttribute('aria-describedby');
  }

  function show({ url, rows }) {
    now.replaceChildren(Object.assign(new Image(), { alt: field.dataset.sayNow, src: url }));
    now.closest('[data-drop]').classList.add('has-picture');
    choose.querySelector('[data-picture-choose-words]').textContent = field.dataset.sayReplace;
    remove.hidden = false;
    field.dispatchEvent(new Event('picture'));
    onChange(rows);
  }

  async function take(picture) {
    if (picture.size > most * 1024 * 1024) {
      refuse(fill(field.dataset.sayTooLarge, { size: (picture.size / 1024 / 1024).toFixed(1), limit: most }));
      return;
    }
    const body = new FormData();
    body.append(field.dataset.picture, picture);
    refuse('');
    field.setAttribute('aria-busy', 'true');
    try {
      show(await post(field.dataset.action, body, { wait: 60000 }));
    } catch (failure) {
      refuse(failure.message);
    } finally {
      field.removeAttribute('aria-busy');
    }
  }

  file.hidden = true;
  field.querySelector('[data-picture-send]').hidden = true;
  choose.hidden = false;
  choose.addEventListener('click', () => file.click());
  takeFile(file, field.querySelector('[data-drop]'), take);
}

const within = (value) => Math.round(Math.min(100, Math.max(0, value)));

// The focal point: dragged, or moved by the arrow keys.
function startFocus(cover) {
  const ring = cover.querySelector('[data-focus-ring]');
  const now = cover.querySelector('[data-picture-now]');
  const fields = ['focusX', 'focusY'].map((name) => document.getElementById(`editor-${name}`));
  const read = () => fields.map((field) => Number(field.value));

  function place() {
    const [x, y] = read();
    ring.style.setProperty('left', `${x}%`);
    ring.style.setProperty('top', `${y}%`);
    ring.setAttribute('aria-valuenow', x);
    ring.setAttribute('aria-valuetext', `${x} percent from the left, ${y} percent from the top`);
  }
  function move(...point) {
    fields.forEach((field, axis) => { field.value = within(point[axis]); });
    place();
    for (const field of fields) field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  function follow({ clientX, clientY }) {
    const { left, top, width, height } = now.getBoundingClientRect();
    move(((clientX - left) / width) * 100, ((clientY - top) / height) * 100);
  }

  ring.addEventListener('keydown', (event) => {
    const by = event.shiftKey ? 10 : 2;
    const [dx, dy] = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, -by], ArrowDown: [0, by] }[event.key] ?? [];
    if (dx === undefined) return;
    event.preventDefault();
    const [x, y] = read();
    move(x + dx, y + dy);
  });
  ring.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    ring.focus({ preventScroll: true });
    ring.setPointerCapture(event.pointerId);
    ring.addEventListener('pointermove', follow);
    ring.addEventListener('lostpointercapture', () => ring.removeEventListener('pointermove', follow), { once: true });
  });
  // A tap on the picture works too, for people who can't drag.
  now.addEventListener('click', follow);
  const show = () => {
    ring.hidden = !now.querySelector('img');
    document.querySelector('[data-focus-fields]').hidden = ring.hidden;
  };
  cover.addEventListener('picture', show);
  show();
  place();
}

// Start the picture fields; `onChange` is called after each new picture.
export function startPictures(onChange) {
  for (const field of document.querySelectorAll('[data-picture]')) startPicture(field, onChange);
  const cover = document.querySelector('[data-picture="cover"]');
  if (cover) startFocus(cover);
}
