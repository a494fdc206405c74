// What is shown instead of the form while a recording is sent.

import { announce } from '../../post.js';
import { Upload } from './upload.js';
import { fill, inMegabytes, inUnit, megabytes } from './parts.js';

export class Sending {
  constructor(section, form) {
    Object.assign(this, { section, form, say: section.dataset });
    this.find = (name) => section.querySelector(`[data-${name}]`);
    this.button = (name) => section.querySelector(`[data-do="${name}"]`);
    this.button('now').addEventListener('click', () => this.upload.tryNow());
    this.button('stop').addEventListener('click', () => this.upload.stop());
    this.button('copy').addEventListener('click', () => keepCopy(this.recording));
  }

  // Resolve when the server has all of it; throw a Failure if the server refuses it, or if the person stops.
  async run(recording, url, keep) {
    this.recording = recording;
    this.started = null;
    this.upload = new Upload(recording, url, {
      keep, moved: (bytes) => this.move(bytes), paused: (reason) => this.pause(reason),
    });
    this.find('title').textContent = recording.kind === 'video' ? this.say.sayVideo : this.say.sayVoice;
    this.move(recording.sent ?? 0);
    this.form.hidden = true;
    this.form.before(this.section);
    this.find('title').focus();
    addEventListener('beforeunload', warn);
    try {
      await this.upload.run();
    } finally {
      removeEventListener('beforeunload', warn);
    }
  }

  // Show the form again.
  end() {
    this.section.remove();
    this.form.hidden = false;
  }

  move(bytes) {
    const { size } = this.recording.blob;
    this.started ??= { at: performance.now(), bytes };
    const seconds = (performance.now() - this.started.at) / 1000;
    const pace = (bytes - this.started.bytes) / seconds;
    this.find('percent').textContent = new Intl.NumberFormat(document.documentElement.lang, { style: 'percent', numberingSystem: 'latn' }).format(bytes / size);
    this.find('part').textContent = fill(this.say.sayPart, { part: megabytes(bytes), whole: inMegabytes(size) });
    this.find('progress').value = bytes / size;
    this.find('time-left').textContent = pace > 0 ? fill(this.say.sayLeft, { time: about((size - bytes) / pace) }) : '\u00a0';
    this.showPaused(false);
  }

  pause(reason) {
    this.started = null;
    this.find('why').textContent = reason === 'busy' ? this.say.sayBusy : this.say.sayOffline;
    const { sent } = this.recording;
    this.find('kept').textContent = sent ? fill(this.say.sayKept, { part: inMegabytes(sent) }) : '';
    this.showPaused(true);
    announce(this.find('why').textContent);
  }

  showPaused(isPaused) {
    this.find('paused').hidden = !isPaused;
    this.find('box').classList.toggle('is-paused', isPaused);
    this.button('now').hidden = !isPaused;
  }
}

const about = (seconds) => (seconds < 90 ? inUnit(Math.max(5, Math.ceil(seconds / 5) * 5), 'second') : inUnit(Math.round(seconds / 60), 'minute'));

function warn(event) {
  event.preventDefault();
}

export function keepCopy({ blob, kind, mediaType }) {
  const url = URL.createObjectURL(blob);
  const ending = mediaType.split('/')[1].replace('quicktime', 'mov').replace('x-', '');
  Object.assign(document.createElement('a'), { href: url, download: `${kind}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
