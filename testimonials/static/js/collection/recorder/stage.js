// The recorder itself: a dialog of views (opening, framing, counting, recording, review, refused).
// Nothing leaves the device here.

import { close, hasOtherCamera, openDevices, watchLevels } from './camera.js';
import { Player } from './player.js';
import { Take } from './take.js';
import { clock, fill, inUnit, show } from './parts.js';

const COUNT_FROM = 3;
// When it announces how much time is left.
const SPOKEN = [30, 10];

export class Stage {
  // `ended` gets the recording (null if there is none), and what the person wants instead: "file" or "write".
  constructor(dialog, { limit, prompts, kinds, ended }) {
    Object.assign(this, { dialog, limit, prompts, kinds, ended, kind: 'video', facing: 'user', say: dialog.dataset });
    this.find = (name) => dialog.querySelector(`[data-${name}]`);
    this.all = (name) => dialog.querySelectorAll(`[data-${name}]`);
    this.player = new Player(dialog);
    this.isTextShown = true;
    dialog.addEventListener('click', (event) => {
      const button = event.target.closest('[data-do]');
      if (button) this.act(button.dataset.do);
    });
    dialog.addEventListener('cancel', (event) => {
      event.preventDefault();
      this.act({ counting: 'cancel', recording: 'stop' }[this.view] ?? 'close');
    });
    dialog.addEventListener('keydown', (event) => {
      if (event.key !== ' ' || event.target.closest('button, input')) return;
      event.preventDefault();
      this.act({ framing: 'record', counting: 'cancel', recording: 'stop', review: 'play' }[this.view]);
    });
    addEventListener('pagehide', () => this.shut());
  }

  act(name) {
    const actions = {
      close: () => this.leave(this.recording), use: () => this.leave(this.recording),
      file: () => this.leave(null, 'file'), write: () => this.leave(null, 'write'),
      again: () => this.open(this.kind), retake: () => this.open(this.kind),
      voice: () => this.open('voice'), video: () => this.open('video'),
      flip: () => this.flip(), text: () => this.toggleText(), next: () => this.showPrompt(this.place + 1),
      record: () => this.count(COUNT_FROM), cancel: () => this.frame(), stop: () => this.take.stop(),
      pause: () => this.pause(), play: () => this.player.toggle(),
    };
    actions[name]?.();
  }

  // Ask for camera or microphone and show the frame.
  async open(kind) {
    this.kind = kind;
    this.recording = null;
    this.shut();
    this.go('opening');
    if (!this.dialog.open) this.dialog.showModal();
    const turn = this.turn = {};
    try {
      const stream = await openDevices(kind, this.facing);
      if (this.turn !== turn) return close(stream);
      this.stream = stream;
      const live = this.find('live');
      live.srcObject = kind === 'video' ? stream : null;
      live.classList.toggle('is-mirrored', this.facing === 'user');
      if (kind === 'video') await live.play().catch(() => {});
      this.canFlip = kind === 'video' && await hasOtherCamera();
      this.watch();
      this.frame();
    } catch (error) {
      if (this.turn === turn) this.refuse(error.name === 'NotAllowedError');
    }
  }

  // Show something that was recorded or chosen before.
  look(recording) {
    this.kind = recording.kind;
    this.review(recording);
    if (!this.dialog.open) this.dialog.showModal();
    this.focus();
  }

  refuse(isRefused) {
    this.go('refused');
    this.find('when-refused').hidden = !isRefused;
    this.find('when-missing').hidden = isRefused;
    this.find('refused-title').textContent = this.say[`say${isRefused ? 'Refused' : 'Missing'}${this.kind === 'video' ? 'Video' : 'Voice'}`];
    this.focus();
  }

  watch() {
    const bars = this.find('bars').children;
    const wave = [...this.find('wave').children];
    const levels = wave.map(() => 0);
    this.find('light').hidden = this.kind !== 'video';
    const tell = (name, text) => {
      const place = name === 'sound' ? this.find('sound') : this.find('light').lastElementChild;
      if (place.textContent !== text) place.textContent = text;
    };
    tell('light', this.say.sayLight);
    this.stopWatching = watchLevels(this.stream, this.find('live'), {
      tellSound: (level, wasHeard) => {
        tell('sound', wasHeard ? this.say.sayHeard : this.say.saySilent);
        [...bars].forEach((bar, index) => { bar.style.blockSize = `${3 + 11 * Math.max(0, Math.min(1, level * 5 - index * 0.6))}px`; });
        if (this.kind !== 'voice' || this.take?.isPaused) return;
        levels.push(level);
        levels.shift();
        wave.forEach((bar, index) => { bar.style.blockSize = `${6 + 76 * levels[index]}px`; });
      },
      tellLight: (isDark) => tell('light', isDark ? this.say.sayDark : this.say.sayLight),
    });
  }

  async flip() {
    this.facing = this.facing === 'user' ? 'environment' : 'user';
    await this.open(this.kind);
  }

  frame() {
    clearTimeout(this.timer);
    this.place = 0;
    this.go('framing');
    for (const button of this.all('do')) {
      if (button.dataset.do === 'flip') button.hidden = !this.canFlip;
    }
    this.showPrompt(0);
    for (const left of this.all('left')) left.textContent = fill(this.say.sayLeft, { time: clock(this.limit) });
    this.focus();
  }

  count(number) {
    if (number === COUNT_FROM) {
      this.go('counting');
      this.showPrompt(0);
      this.focus();
    }
    if (!number) return this.record();
    this.find('count').textContent = number;
    this.turnRing('counting', number / COUNT_FROM);
    this.tell(String(number));
    this.timer = setTimeout(() => this.count(number - 1), 1000);
  }

  record() {
    this.said = 0;
    this.go('recording');
    this.showPrompt(0);
    this.name('pause', this.say.sayPause);
    this.take = new Take(this.stream, this.kind, this.limit, {
      tick: (seconds) => this.tick(seconds),
      done: (recording) => this.finish(recording),
    });
    this.tick(0);
    this.tell(this.say.sayRecording);
    this.focus();
  }

  tick(seconds) {
    const left = Math.max(0, Math.ceil(this.limit - seconds));
    const words = fill(this.say.sayLeft, { time: inUnit(left, 'second') });
    this.find('time').textContent = clock(Math.floor(Math.min(seconds, this.limit)));
    this.all('left')[1].textContent = `· ${words}`;
    this.turnRing('recording', seconds / this.limit);
    const due = SPOKEN.filter((each) => each < this.limit && left <= each).length;
    if (due > this.said) this.tell(words);
    this.said = Math.max(due, this.said);
  }

  pause() {
    const { take } = this;
    if (take.isPaused) take.goOn();
    else take.pause();
    this.dialog.classList.toggle('is-paused', take.isPaused);
    this.name('pause', take.isPaused ? this.say.sayGoOn : this.say.sayPause);
    this.tell(take.isPaused ? this.say.sayPaused : this.say.sayRecording);
  }

  finish(recording) {
    const wasCut = this.stream?.getTracks().some((track) => track.readyState === 'ended' || track.muted);
    this.take = null;
    this.shut();
    if (!this.dialog.open) return;
    if (!recording) {
      this.open(this.kind).then(() => this.tell(this.say.sayNothing));
      return;
    }
    this.review(recording);
    this.focus();
    this.tell(wasCut ? this.say.sayEnded : '');
  }

  review(recording) {
    this.recording = recording;
    this.go('review');
    this.find('use').textContent = this.kind === 'video' ? this.say.sayUseVideo : this.say.sayUseVoice;
    this.player.load(recording);
  }

  leave(recording, way = '') {
    clearTimeout(this.timer);
    this.turn = null;
    this.recording = null;
    this.player.unload();
    this.shut();
    this.dialog.close();
    this.ended(recording, way);
  }

  // Release the camera and microphone.
  shut() {
    clearTimeout(this.timer);
    this.take?.stop();
    this.stopWatching?.();
    this.stopWatching = null;
    close(this.stream);
    this.stream = null;
    this.find('live').srcObject = null;
  }

  showPrompt(place) {
    const { prompts } = this;
    this.place = place;
    const isShown = place < prompts.length && this.isTextShown;
    this.find('prompt').hidden = !isShown || !['framing', 'counting', 'recording'].includes(this.view);
    for (const button of this.all('do')) {
      if (button.dataset.do === 'text') button.hidden = !prompts.length || this.view === 'review';
      if (button.dataset.do === 'next') button.hidden = this.view !== 'recording' || place + 1 >= prompts.length;
    }
    if (place >= prompts.length) return;
    const values = { place: place + 1, count: prompts.length };
    this.find('prompt-place').textContent = this.view === 'framing' ? this.say.sayFirst : fill(this.say.sayPlace, values);
    this.find('prompt-text').textContent = prompts[place];
    if (place) {
      this.tell(prompts[place]);
      // The button that was pressed may be gone.
      if (place + 1 >= prompts.length) this.focus();
    }
  }

  toggleText() {
    this.isTextShown = !this.isTextShown;
    this.name('text', this.isTextShown ? this.say.sayHide : this.say.sayShow);
    this.showPrompt(this.place);
  }

  name(action, text) {
    for (const button of this.all('do')) {
      if (button.dataset.do === action) button.querySelector('[data-label]').textContent = text;
    }
  }

  turnRing(view, share) {
    for (const ring of this.all('ring')) {
      if (ring.closest('[data-in]').dataset.in === view) ring.style.strokeDasharray = `${100 * Math.min(1, share)} 100`;
    }
  }

  go(view) {
    this.view = view;
    this.dialog.dataset.view = view;
    this.dialog.classList.remove('is-paused');
    show(this.dialog, view, this.kind, this.kinds);
    this.tell('');
  }

  focus() {
    [...this.all('focus')].find((each) => each.checkVisibility())?.focus();
  }

  tell(text) {
    this.find('status').textContent = text;
  }
}
