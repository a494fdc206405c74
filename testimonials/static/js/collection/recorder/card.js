// The recording in the form: a card that replaces the explanation, and the form's texts for it.

import { clock, fill, inMegabytes, megabytes } from './parts.js';

export function showCard(card, recording) {
  const say = card.dataset;
  const isVideo = recording.kind === 'video';
  const find = (name) => card.querySelector(`[data-${name}]`);
  const { blob, seconds, sent, poster, isPlayable } = recording;
  const place = find('poster');
  card.dataset.kind = recording.kind;
  place.querySelector('img')?.remove();
  if (poster) readAsUrl(poster).then((url) => place.append(Object.assign(new Image(), { src: url, alt: '' })));
  find('name').textContent = isVideo ? say.sayVideo : say.sayVoice;
  find('facts').textContent = [seconds ? clock(seconds) : '', inMegabytes(blob.size)].filter(Boolean).join(' · ');
  const watch = card.querySelector('[data-do="watch"]');
  watch.textContent = isVideo ? say.sayWatch : say.sayListen;
  watch.hidden = !isPlayable;
  const note = find('note');
  const arrived = sent ? fill(say.sayArrived, { part: megabytes(sent), whole: inMegabytes(blob.size) }) : '';
  note.textContent = arrived || (isPlayable ? '' : say.sayUnplayable);
  note.hidden = !note.textContent;
}

// The page's policy allows pictures from data: URLs, not from blobs.
function readAsUrl(blob) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(blob);
  });
}
