// The average of all ratings: in a pill, a sentence, a card, a corner, or beside faces.
const drawBadge = ({ kind, feed, host, stage, el, set, faces, number, say, stars, webUrl }) => {
  const { average, count, loved, faces: people } = feed.header;
  const mean = number(average, 1);
  const ratings = say('ratings', { n: number(count) });
  const from = say('fromRatings', { n: number(count) });
  const bold = (words) => el('b', {}, words);
  const sum = (...lines) => el('span', { class: 'summary' }, ...lines);
  const inside = {
    'badge-sentence': () => [stars(average), ' ', bold(mean), ' ', el('u', {}, from)],
    'badge-card': () => [el('b', { class: 'average' }, mean), sum(stars(average, 20), ratings), faces(people)],
    people: () => [faces(people), sum(loved && bold(say('loved', { n: number(loved) })), el('span', {}, stars(average, 14), mean + ' ' + from))],
  }[kind] || (() => [stars(average), bold(mean), el('span', {}, ratings)]);
  const link = el('a', { class: 'badge', href: webUrl(feed.badge.url), target: '_blank', rel: 'noopener', lang: feed.lang }, ...inside());
  if (kind === 'badge-sentence') {
    host.dataset.testimonialsInline = '';
    set(link.firstChild, { viewBox: '0 0 20 20', width: '1em', height: '1em' });
  }
  stage.replaceWith(link);
  return {};
};
