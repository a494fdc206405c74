// Recording on the collection page. It is loaded once somebody wants to record, or has a recording
// in this browser that was not sent.

import { Failure, showProblem } from '../../post.js';
import { tellKind } from '../record.js';
import { showCard } from './card.js';
import { drop, keep, recallRecording } from './kept.js';
import { fill, inMegabytes, inUnit, loadParts } from './parts.js';
import { lookInto } from './poster.js';
import { Sending } from './sending.js';
import { Stage } from './stage.js';

// A recorder may run on for a moment, and an editor can only cut a file at certain points.
const LEEWAY = 2;
let parts = null;
let current = null;

// Set up a form's recorder. A form that the server sent back gets the recording of the one before.
export async function setUpRecorder(form) {
  parts ??= await loadParts(form.querySelector('[data-record]').dataset);
  const recorder = new Recorder(form);
  const recording = current?.recording ?? await recallRecording(form.dataset.draft);
  current = recorder;
  if (recording) recorder.put(recording);
  return recorder;
}

class Recorder {
  constructor(form) {
    this.form = form;
    this.panel = form.querySelector('[data-record]');
    this.say = this.panel.dataset;
    this.field = this.panel.querySelector('[data-recording-id]');
    this.explain = this.panel.querySelector('[data-explain]');
    this.problem = this.panel.querySelector('[data-record-problem]');
    this.kinds = this.say.kinds.split(' ');
    this.limit = Number(this.say.seconds);
    this.recording = null;
    this.card = parts.card.cloneNode(true);
    this.card.addEventListener('click', (event) => this.act(event.target.dataset.do));
    this.sending = new Sending(parts.sending.cloneNode(true), form);
    this.stage = new Stage(parts.dialog.cloneNode(true), {
      limit: this.limit, prompts: JSON.parse(this.say.recordPrompts), kinds: this.kinds, ended: (...what) => this.take(...what),
    });
    form.addEventListener('way', () => this.tellForm());
    parts.dialog.replaceWith(this.stage.dialog);
    parts.dialog = this.stage.dialog;
  }

  start(kind) {
    this.complain('');
    this.stage.open(kind);
  }

  act(name) {
    if (name === 'watch') this.stage.look(this.recording);
    else if (name === 'replace') this.start(this.kinds.includes(this.recording.kind) ? this.recording.kind : this.kinds[0]);
    else if (name === 'remove') this.remove();
  }

  // The recorder's result.
  async take(recording, way) {
    if (recording && recording !== this.recording) {
      await this.accept(recording);
    } else if (way === 'file') {
      this.panel.querySelector('[name="recording_file"]').click();
    } else if (way === 'write') {
      this.form.dispatchEvent(new CustomEvent('choose-way', { detail: 'write' }));
    }
    if (!way) this.rest();
  }

  // Where the focus goes when the recorder is closed.
  rest() {
    const place = this.recording ? this.card.querySelector('[data-name]') : this.explain.querySelector('[data-start]');
    place.focus();
  }

  // Take a file that was chosen.
  async takeFile(file) {
    const kind = file.type.split('/')[0] === 'audio' ? 'voice' : 'video';
    this.complain('');
    if (!/^(audio|video)\//.test(file.type) || !this.kinds.includes(kind)) return this.complain(this.say.sayOther);
    const most = Number(this.say.megabytes) * 2 ** 20;
    if (file.size > most) return this.complain(fill(this.say.sayLarge, { limit: inMegabytes(most) }));
    const { seconds } = await lookInto(file, kind);
    if (seconds > this.limit + LEEWAY) return this.complain(fill(this.say.sayLong, { limit: inUnit(this.limit, 'second') }));
    await this.accept({ kind, blob: file, mediaType: file.type.split(';')[0], seconds, at: Date.now() });
    return this.rest();
  }

  async accept(recording) {
    const { poster, isPlayable } = await lookInto(recording.blob, recording.kind);
    Object.assign(recording, { poster, isPlayable });
    this.put(recording);
    await keep(this.form.dataset.draft, recording);
  }

  put(recording) {
    this.recording = recording;
    showCard(this.card, recording);
    this.explain.hidden = true;
    this.explain.before(this.card);
    this.form.dispatchEvent(new CustomEvent('choose-way', { detail: 'record' }));
    this.tellForm();
  }

  remove() {
    this.recording = null;
    drop(this.form.dataset.draft);
    this.card.remove();
    this.explain.hidden = false;
    this.tellForm();
    this.rest();
  }

  // What is sent: the recording only if that is the chosen way.
  get sent() {
    return this.form.classList.contains('is-recording') ? this.recording : null;
  }

  tellForm() {
    const kind = this.sent?.kind ?? 'written';
    const { form } = this;
    form.classList.toggle('has-recording', Boolean(this.recording));
    this.field.disabled = kind === 'written';
    // Nobody has agreed to a sentence that changed after they ticked it.
    if (form.dataset.kind !== kind) form.elements.consent.checked = false;
    tellKind(form, kind);
  }

  complain(text) {
    showProblem(this.problem, text);
    if (text) this.explain.hidden = false;
  }

  // Send the recording before the form. An incomplete form goes first: the server says what is
  // missing, without waiting for the upload.
  async ready() {
    const recording = this.sent;
    if (!recording) return;
    this.field.value = recording.id ?? 'later';
    if (!this.form.checkValidity()) return;
    try {
      await this.sending.run(recording, this.say.url, () => keep(this.form.dataset.draft, recording));
      this.field.value = recording.id;
    } catch (error) {
      this.sending.end();
      showCard(this.card, recording);
      if (error instanceof Failure && error.reason === 'refused') recording.id = null;
      throw error;
    }
  }

  // The form was rejected: show it again.
  end() {
    this.sending.end();
  }

  // The form has arrived, and the recording with it.
  async forget() {
    this.recording = null;
    await drop(this.form.dataset.draft);
  }
}
