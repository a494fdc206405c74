// One recording being made. It ends by itself at the limit, and when the camera or microphone is
// taken over, for example by a call; what was recorded until then is kept.

import { typeOf } from './camera.js';

const BITS = { video: 2500000, voice: 96000 };
const PIECE_MS = 1000;

export class Take {
  // `tick` gets the seconds so far, `done` the recording, or null if there is none.
  constructor(stream, kind, limit, { tick, done }) {
    this.kind = kind;
    this.limit = limit;
    this.tick = tick;
    this.parts = [];
    this.before = 0;
    this.since = null;
    const mimeType = typeOf(kind);
    const bits = kind === 'video' ? { videoBitsPerSecond: BITS.video } : {};
    this.recorder = new MediaRecorder(stream, { ...(mimeType && { mimeType }), ...bits, audioBitsPerSecond: BITS.voice });
    this.recorder.addEventListener('dataavailable', (event) => { if (event.data.size) this.parts.push(event.data); });
    this.recorder.addEventListener('stop', () => done(this.finish()), { once: true });
    this.recorder.addEventListener('error', () => this.stop());
    for (const track of stream.getTracks()) {
      for (const name of ['ended', 'mute']) track.addEventListener(name, () => this.stop());
    }
    this.recorder.start(PIECE_MS);
    this.goOn();
  }

  get seconds() {
    return this.before + (this.since === null ? 0 : (performance.now() - this.since) / 1000);
  }

  get isPaused() {
    return this.since === null;
  }

  goOn() {
    if (this.recorder.state === 'paused') this.recorder.resume();
    this.since = performance.now();
    this.timer = setInterval(() => {
      this.tick(this.seconds);
      if (this.seconds >= this.limit) this.stop();
    }, 200);
  }

  pause() {
    this.hold();
    this.recorder.pause();
  }

  hold() {
    this.before = this.seconds;
    this.since = null;
    clearInterval(this.timer);
  }

  stop() {
    this.hold();
    if (this.recorder.state !== 'inactive') this.recorder.stop();
  }

  finish() {
    this.hold();
    const [mediaType] = (this.recorder.mimeType || this.parts[0]?.type || '').split(';');
    const blob = new Blob(this.parts, { type: mediaType });
    return blob.size ? { kind: this.kind, blob, mediaType, seconds: this.before, at: Date.now() } : null;
  }
}
