// A screenshot of the owner's page around the preview, kept in this browser.
import { takeFile } from '../dropping.js';

const WIDTH = 1280;
const HEIGHT = 3200;

async function read(file) {
  const picture = await createImageBitmap(file);
  const canvas = document.createElement('canvas');
  canvas.width = Math.min(WIDTH, picture.width);
  const height = (picture.height * canvas.width) / picture.width;
  canvas.height = Math.min(HEIGHT, Math.round(height));
  canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, height);
  return canvas.toDataURL('image/jpeg', 0.8);
}

// `change(page)` is called with the page around the preview, `refuse()` for files that aren't pictures.
export function startPicture(stage, change, refuse) {
  const zone = stage.querySelector('[data-zone]');
  const place = zone.querySelector('[data-place]');
  const file = zone.querySelector('[data-file]');
  let picture = '';
  const tell = () => change(picture ? { picture, place: place.valueAsNumber } : {});

  async function take(chosen) {
    try {
      picture = await read(chosen);
      tell();
    } catch { refuse(); }
  }

  document.querySelector('[data-picture]').addEventListener('click', ({ target }) => {
    target.closest('details').open = false;
    zone.hidden = false;
    file.focus();
  });
  zone.querySelector('[data-zone-close]').addEventListener('click', () => { zone.hidden = true; });
  place.addEventListener('input', tell);
  takeFile(file, zone, take, stage);
}
