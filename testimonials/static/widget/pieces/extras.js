// What some testimonials have besides their words: a handle, highlights, a reply, answers to the
// owner's questions, and marks.
const X = 'M3 3l14 18h4L7 3zM20.5 3l-7 8M10.5 13.5 4 21';
const MARKS = { verified: 'M12 3a9 9 0 1 0 .01 0zM8 12.5l2.8 2.8 5.2-6', rewarded: 'M4 11h16v9H4zM3 7h18v4H3zM12 7v13M12 7c-5 0-6-5-3-5s3 5 3 5 0-5 3-5 2 5-3 5', insider: 'M12 4a4 4 0 1 0 .01 0zM4 21c1-9 15-9 16 0', translated: 'M3 6h10M8 3v3c0 5-2 8-5 9M5 9c1 3 4 5 6 6M12 21l4.5-11L21 21M14 17h5' };

export default [`extras.css`, ({ el, extensions, feed, kind, locale, say }) => {
  const { config, design, project: { name } } = feed;
  const icon = (d) => el('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': true }, el('path', { d }));

  const drawHandle = (handle, top) => {
    if (handle) top.append(el('a', { class: 'source', href: 'https://x.com/' + handle, rel: 'noopener nofollow', target: '_blank', dir: 'ltr' }, el('span', {}, '@' + handle), icon(X)));
  };

  const highlight = (words, ranges) => {
    const letters = [...words.textContent];
    const parts = [];
    let end = 0;
    for (const [from, to] of ranges) {
      parts.push(letters.slice(end, from).join(''), el('mark', { class: 'mark' }, letters.slice(from, to).join('')));
      end = to;
    }
    words.replaceChildren(...parts, letters.slice(end).join(''));
  };

  const drawAnswers = (card, answers) => {
    const { words } = card;
    const values = answers.map(([question, answer]) => [el('dt', {}, question), el('dd', {}, el('bdi', {}, answer))]);
    const list = el('dl', { class: 'answers' }, ...values.map((pair) => el('div', {}, ...pair)));
    words.after(list);
    // "Read more" also reveals these, if they are cut off or hidden.
    const cut = () => Math.max(...[words, ...values.map(([, value]) => value)].map((each) => each.scrollHeight - each.clientHeight));
    card.words = { clientHeight: 0, get scrollHeight() { return list.clientHeight || kind === 'strip' ? cut() : Infinity; } };
  };

  // A link from the mark about changed words to what is known about the original ones.
  const drawMarks = (marks, record) => el('p', { class: 'marks' }, ...marks.map((mark) => {
    const means = say(mark + 'Means', { name });
    const link = record && /^[est]/.test(mark) && { href: record, target: '_blank' };
    return el(link ? 'a' : 'span', { class: mark, title: means, ...link }, icon(MARKS[mark] || 'M4 6h16M4 12h16M4 18h7'), say(mark), el('span', { class: 'unseen' }, '. ' + means));
  }));

  extensions.unshift((card) => {
    const { item: { twitter, highlights, reply, extras }, figure, words, top, more } = card;
    if (config.showSource !== false) drawHandle(`${twitter?.handle || ''}`.replace(/\W/g, ''), top);
    if (highlights && design.showHighlights !== false) highlight(words, highlights);
    if (reply) more.before(el('div', { class: 'reply' }, el('b', {}, say('reply', { name })), el('p', { lang: locale }, el('bdi', {}, reply.text))));
    if (extras?.answers) drawAnswers(card, extras.answers);
    if (extras?.marks) figure.append(drawMarks(extras.marks, card.record));
  });
}];
