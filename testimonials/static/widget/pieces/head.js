// The average of all ratings above the cards; badges use its styles.
export default [`head.css`, ({ el, feed, faces, number, root, say, stars }) => {
  if (feed.shape) return;
  const { average, count, faces: people } = feed.header;
  root.prepend(el('div', { class: 'head' }, el('span', { class: 'average' }, number(average, 1)),
    el('span', { class: 'summary' }, stars(average, 20), el('span', {}, say('ratings', { n: number(count) }))), faces(people)));
}];
