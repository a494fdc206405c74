// The average of all ratings with people's faces: on a card, or next to how many wrote.
export default [`people.css`, (widget) => {
  const { kind, feed: { header: { average, count, people, faces: shown } }, el, faces, number, say, stars } = widget;
  const mean = number(average.toFixed(1));
  const n = number(count);
  const sum = (...lines) => el('span', { class: 'summary' }, ...lines);
  widget.inside = kind === 'people'
    ? [faces(shown), sum(el('b', 0, say('people', { n: number(people) })), count && el('span', 0, stars(average, 14), mean + ' ' + say('fromRatings', { n })))]
    : [el('b', { class: 'average' }, mean), sum(stars(average, 20), say('ratings', { n })), faces(shown)];
}];
