// The photo's field: preview, drop, paste and Remove. The photo is cropped and scaled down here, so
// that little is sent and no camera metadata leaves the device; the server does the same again.

import { announce, showProblem } from '../post.js';

// Twice the size at which the server stores it.
const SIDE = 512;
// A browser would need gigabytes to decode more; the server refuses it by its header alone.
const MAX_PIXELS = 60e6;
const TAKEN = ['image/jpeg', 'image/png', 'image/webp'];

// Where a dropped or pasted picture goes; a rejected form comes back with a new field.
let current = null;

export function setUpPhoto(field) {
  const find = (selector) => field.querySelector(selector);
  const say = field.dataset;
  const input = find('.photo-input');
  const face = find('[data-photo-face]');
  const choose = find('[data-photo-choose]');
  const remove = find('[data-photo-remove]');
  const problem = find('[data-photo-problem]');
  const camera = find('[data-photo-camera]').content.firstElementChild;
  let preparing = Promise.resolve();
  let turn = 0;

  const complain = (text) => {
    showProblem(problem, text, input);
    // The server's error was about another photo.
    document.getElementById('photo-error')?.remove();
    document.querySelector('[data-photo-without]')?.remove();
  };
  const put = (file) => {
    const files = new DataTransfer();
    if (file) files.items.add(file);
    input.files = files.files;
  };
  const show = (picture, words) => {
    face.replaceChildren(picture ?? camera.cloneNode(true));
    choose.textContent = words;
    remove.hidden = !input.files.length;
    field.dispatchEvent(new CustomEvent('photo', { detail: picture, bubbles: true }));
    field.classList.toggle('has-photo', input.files.length > 0);
  };
  const drop = () => {
    put(null);
    find('[data-photo-kept]')?.remove();
    find('.photo-drop')?.remove();
    show(null, say.sayChoose);
  };

  async function take(file) {
    const mine = ++turn;
    const small = await shrink(file).catch(() => null);
    // Another one was chosen meanwhile.
    if (mine !== turn) return;
    complain('');
    if (!small && !TAKEN.includes(file.type)) {
      drop();
      complain(say.sayUnreadable);
    } else if (!small && file.size > Number(say.maxBytes)) {
      drop();
      complain(say.sayLarge);
    } else {
      drop();
      put(small ? small.file : file);
      show(small?.picture, small ? say.sayAgain : file.name);
      announce(say.sayAdded);
    }
  }
  const start = (file) => { preparing = take(file); };

  input.addEventListener('change', () => {
    if (input.files.length) start(input.files[0]);
    else if (!find('[data-photo-kept]')) show(null, say.sayChoose);
  });
  remove.addEventListener('click', () => {
    turn += 1;
    drop();
    complain('');
    announce(say.sayRemoved);
    input.focus();
  });

  current = { field, start, box: find('[data-photo-box]') };
  field.classList.add('is-ready');
  // After going back to the page, the browser may still have the file.
  if (input.files.length) start(input.files[0]);
  return { ready: () => preparing };
}

async function shrink(file) {
  if (file.type === 'image/png') {
    const head = new DataView(await file.slice(16, 24).arrayBuffer());
    if (head.getUint32(0) * head.getUint32(4) > MAX_PIXELS) return null;
  }
  const bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' });
  const edge = Math.min(bitmap.width, bitmap.height);
  const size = Math.min(SIDE, edge);
  const picture = document.createElement('canvas');
  picture.width = size;
  picture.height = size;
  const context = picture.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, (bitmap.width - edge) / 2, (bitmap.height - edge) / 2, edge, edge, 0, 0, size, size);
  bitmap.close();
  // Only these may be transparent; a browser that can't write WebP gives PNG.
  const kind = file.type === 'image/jpeg' ? 'image/jpeg' : 'image/webp';
  const blob = await new Promise((resolve) => { picture.toBlob(resolve, kind, 0.9); });
  return blob && { picture, file: new File([blob], `photo.${blob.type.split('/')[1]}`, { type: blob.type }) };
}

const isThere = () => Boolean(current?.field.isConnected);
const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');

// A file dropped outside the box must not replace the page and what was typed.
addEventListener('dragover', (event) => {
  if (!isThere() || !hasFiles(event)) return;
  event.preventDefault();
  current.box.classList.add('is-over');
});
addEventListener('dragleave', (event) => {
  if (isThere() && !event.relatedTarget) current.box.classList.remove('is-over');
});
addEventListener('drop', (event) => {
  if (!isThere() || !hasFiles(event)) return;
  event.preventDefault();
  current.box.classList.remove('is-over');
  const [file] = event.dataTransfer.files;
  if (file) current.start(file);
});
addEventListener('paste', (event) => {
  // What is copied from a document may be both text and a picture of it; the text is meant.
  const copied = event.clipboardData;
  if (!isThere() || !copied || copied.getData('text/plain')) return;
  const file = [...copied.files].find((each) => each.type.startsWith('image/'));
  if (!file) return;
  event.preventDefault();
  current.start(file);
});
