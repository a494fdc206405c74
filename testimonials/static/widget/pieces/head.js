// The average of all ratings above the cards; badges use its styles and its row of faces.
export default [`head.css`, (widget) => {
  const { el, feed, number, root, say, stars } = widget;
  const faces = widget.faces = (people) => el('span', { class: 'faces', 'aria-hidden': true }, ...people.map(({ face, avatar }) => widget.face(face, avatar)));
  if (feed.shape) return;
  const { average, count, faces: people } = feed.header;
  root.prepend(el('div', { class: 'head' }, el('span', { class: 'average' }, number(average.toFixed(1))),
    el('span', { class: 'summary' }, stars(average, 20), el('span', {}, say('ratings', { n: number(count) }))), faces(people)));
}];
