// What some testimonials have beside their words: a recording, answers to the owner's questions, and
// marks. The core (../core/widget.js) imports this once a testimonial has any, and calls what it
// exports with each such card.
const sheet = new CSSStyleSheet();
sheet.replaceSync(`extras.css`);
const PLAY = 'M16 11.5v17L30 20z';
const MARKS = { verified: 'M12 3a9 9 0 1 0 .01 0zM8 12.5l2.8 2.8 5.2-6', rewarded: 'M4 11h16v9H4zM3 7h18v4H3zM12 7v13M12 7c-5 0-6-5-3-5s3 5 3 5 0-5 3-5 2 5-3 5' };

const writeTime = (seconds) => Math.floor(seconds / 60) + ':' + `${Math.round(seconds % 60)}`.padStart(2, 0);

const drawRecording = ({ el, icon, webUrl, say, view, signal }, { src, captions, poster, page, seconds, width }, name) => {
  const kind = width ? 'video' : 'voice';
  const time = seconds ? writeTime(seconds) : '';
  const box = el('div', { class: 'recording ' + kind, 'data-src': webUrl(src), 'data-captions': webUrl(captions), 'data-failed': say('cannotPlay')}, width && el('svg', { class: 'shape', viewBox: `0 0 ${width} 400`, width, height: 400, 'aria-hidden': true }));
  box.append(el('a', { class: 'play', href: webUrl(page), target: '_blank', rel: 'noopener', 'aria-label': [say(kind, { name }), time].filter(Boolean).join(', ') },
    webUrl(poster) && el('img', { src: webUrl(poster), alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' }),
    icon(PLAY, { class: 'sign', viewBox: '0 0 40 40' }), kind === 'voice' && el('span', { class: 'wave' }), time && el('span', { class: 'time' }, time)));
  makePlayable(box, (is) => {
    // What moves by itself looks at this, and is told by what it listens to.
    view.classList.toggle('held', is);
    view.dispatchEvent(new Event('focusout'));
  }, signal);
  return box;
};

export default (widget) => {
  const { host, el, icon, say, feed, kind } = widget;
  const sheets = host.shadowRoot.adoptedStyleSheets;
  if (!sheets.includes(sheet)) sheets.push(sheet);

  return (card) => {
    const { item: { extras: { recording, answers, marks }, authorName }, figure, words } = card;
    if (recording) words.before(drawRecording(widget, recording, authorName));
    if (answers) {
      const values = answers.map(([question, answer]) => [el('dt', {}, question), el('dd', {}, el('bdi', {}, answer))]);
      words.after(el('dl', { class: 'answers' }, ...values.map((pair) => el('div', {}, ...pair))));
      // Read more is also for what is cut of them, or all of it.
      const list = words.nextSibling;
      const cut = () => Math.max(...[words, ...values.map(([, value]) => value)].map((each) => each.scrollHeight - each.clientHeight));
      card.words = { clientHeight: 0, get scrollHeight() { return list.clientHeight || kind === 'strip' ? cut() : Infinity; } };
    }
    if (marks) {
      const { name } = feed.project;
      figure.append(el('p', { class: 'marks' }, ...marks.map((mark) => {
        const means = say(mark + 'Means', { name });
        return el('span', { class: mark, title: means }, icon(MARKS[mark]), say(mark), el('span', { class: 'unseen' }, '. ' + means));
      })));
    }
  };
};
