// Plays what was recorded, on this device only.

import { clock } from './parts.js';
import { findEnd } from './poster.js';

export class Player {
  constructor(dialog) {
    const find = (name) => dialog.querySelector(`[data-${name}]`);
    this.media = find('taken');
    this.seek = find('seek');
    this.at = find('at');
    this.length = find('length');
    this.button = dialog.querySelector('[data-do="play"]');
    this.say = dialog.dataset;
    this.media.addEventListener('timeupdate', () => this.draw());
    for (const name of ['play', 'pause', 'ended']) {
      this.media.addEventListener(name, () => {
        this.button.classList.toggle('is-playing', !this.media.paused);
        this.button.setAttribute('aria-label', this.media.paused ? this.say.sayPlay : this.say.sayPause);
      });
    }
    this.seek.addEventListener('input', () => {
      this.media.currentTime = Number(this.seek.value);
      this.draw();
    });
  }

  load(recording) {
    this.unload();
    this.url = URL.createObjectURL(recording.blob);
    this.media.src = this.url;
    this.seconds = recording.seconds ?? 0;
    this.seek.max = this.seconds;
    this.length.textContent = clock(this.seconds);
    this.media.addEventListener('loadedmetadata', async () => {
      await findEnd(this.media).catch(() => {});
      this.media.currentTime = 0;
    }, { once: true });
  }

  unload() {
    this.media.pause();
    this.media.removeAttribute('src');
    this.media.load();
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = null;
  }

  toggle() {
    if (this.media.paused) this.media.play().catch(() => {});
    else this.media.pause();
  }

  draw() {
    this.seek.value = this.media.currentTime;
    this.at.textContent = clock(this.media.currentTime);
    this.seek.setAttribute('aria-valuetext', `${this.at.textContent} / ${this.length.textContent}`);
  }
}
