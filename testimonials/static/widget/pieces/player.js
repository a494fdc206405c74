// The recordings of testimonials that have one.
const PLAY = 'M16 11.5v17L30 20z';

const writeTime = (seconds) => Math.floor(seconds / 60) + ':' + `${Math.round(seconds % 60)}`.padStart(2, 0);

const drawRecording = ({ el, webUrl, say, view, signal }, { src, captions, poster, page, seconds, width }, name) => {
  const kind = width ? 'video' : 'voice';
  const time = seconds ? writeTime(seconds) : '';
  const box = el('div', { class: 'recording ' + kind, 'data-src': webUrl(src), 'data-captions': webUrl(captions), 'data-failed': say('cannotPlay')}, width && el('svg', { class: 'shape', viewBox: `0 0 ${width} 400`, width, height: 400, 'aria-hidden': true }));
  box.append(el('a', { class: 'play', href: webUrl(page), target: '_blank', 'aria-label': [say(kind, { name }), time].filter(Boolean).join(', ') },
    webUrl(poster) && el('img', { src: webUrl(poster), alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' }),
    el('svg', { class: 'sign', viewBox: '0 0 40 40', 'aria-hidden': true }, el('path', { d: PLAY })), kind === 'voice' && el('span', { class: 'wave' }), time && el('span', { class: 'time' }, time)));
  makePlayable(box, (is) => {
    // Moving shapes read this, and are notified by an event.
    view.classList.toggle('held', is);
    view.dispatchEvent(new Event('focusout'));
  }, signal);
  return box;
};

export default [`player.css`, (widget) => {
  widget.extensions.unshift(({ item: { extras, authorName }, words }) => {
    if (extras?.recording) words.before(drawRecording(widget, extras.recording, authorName));
  });
}];
