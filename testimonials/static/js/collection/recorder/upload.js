// Sends a recording in pieces. After any problem (a lost connection, a reload, a closed laptop) the
// server is asked how much it has, and sending continues from there.

import { Failure, send } from '../../post.js';

const PIECE_WAIT = 60000;
const LONGEST_PAUSE = 30000;
// Temporary errors.
const PASSING = ['offline', 'lost', 'late', 'busy'];

export class Upload {
  // `moved` gets the number of bytes that have arrived, `paused` the reason for waiting; `keep` is
  // called when the recording should be stored as it is now.
  constructor(recording, url, { moved, paused, keep }) {
    Object.assign(this, { recording, url, moved, paused, keep });
    this.stopper = new AbortController();
  }

  async run() {
    let tries = 0;
    for (;;) {
      const before = this.recording.sent ?? 0;
      try {
        return await this.sendRest();
      } catch (error) {
        if (this.stopper.signal.aborted) throw new Failure('stopped');
        if (!(error instanceof Failure) || !PASSING.includes(error.reason)) throw error;
        tries = (this.recording.sent ?? 0) > before ? 0 : tries + 1;
        await this.keep();
        this.paused(error.reason);
        await this.rest(Math.min(LONGEST_PAUSE, 1000 * 2 ** tries));
      }
    }
  }

  // Stop for good.
  stop() {
    this.stopper.abort();
    this.wake?.();
  }

  // Don't wait any longer.
  tryNow() {
    this.wake?.();
  }

  rest(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      addEventListener('online', this.wake, { once: true });
    });
  }

  async sendRest() {
    const { recording } = this;
    let offset = recording.id ? await this.ask() : null;
    offset ??= await this.begin();
    this.move(offset);
    while (offset < recording.blob.size) {
      offset = await this.sendPiece(offset);
      this.move(offset);
    }
    if (recording.poster && !recording.hasPoster) {
      // A failed poster must not cost anybody their recording.
      const type = { 'Content-Type': recording.poster.type };
      await this.call('PUT', `/${recording.id}/poster`, recording.poster, type).catch((error) => {
        if (PASSING.includes(error.reason)) throw error;
      });
      recording.hasPoster = true;
    }
    return recording.id;
  }

  move(offset) {
    this.recording.sent = offset;
    this.moved(offset);
  }

  async begin() {
    const { recording } = this;
    const about = { kind: recording.kind, size: recording.blob.size, mediaType: recording.mediaType };
    const answer = await this.call('POST', '', JSON.stringify(about), { 'Content-Type': 'application/json' });
    const { id, offset, pieceBytes } = await answer.json();
    Object.assign(recording, { id, pieceBytes, hasPoster: false });
    await this.keep();
    return offset;
  }

  // How much the server has; null if it no longer knows the recording.
  async ask() {
    try {
      const answer = await this.call('HEAD', `/${this.recording.id}`);
      return Number(answer.headers.get('Upload-Offset'));
    } catch (error) {
      if (error.reason === 'refused') return null;
      throw error;
    }
  }

  async sendPiece(offset) {
    const { blob, id, pieceBytes } = this.recording;
    const headers = { 'Upload-Offset': offset, 'Content-Type': 'application/offset+octet-stream' };
    const piece = blob.slice(offset, offset + pieceBytes);
    const answer = await this.call('PATCH', `/${id}`, piece, headers, [409]);
    return Number(answer.headers.get('Upload-Offset'));
  }

  async call(method, path, body = null, headers = {}, expected = []) {
    const { signal } = this.stopper;
    const spoken = { Accept: 'application/json', 'Accept-Language': document.documentElement.lang };
    const options = { method, headers: { ...spoken, ...headers }, signal, wait: PIECE_WAIT };
    const answer = await send(this.url + path, body, options);
    if (answer.ok || expected.includes(answer.status)) return answer;
    if (answer.status === 429 || answer.status === 502 || answer.status === 503 || answer.status === 504) throw new Failure('busy', '');
    const { message } = await answer.json().catch(() => ({}));
    throw new Failure('refused', message ?? '');
  }
}
