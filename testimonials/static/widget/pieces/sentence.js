// The average of all ratings within a sentence of the page.
export default [`sentence.css`, (widget) => {
  const { feed: { header: { average, count } }, host, el, inside: [, mean], number, say, stars } = widget;
  host.dataset.testimonialsInline = '';
  const star = stars(average);
  star.setAttribute('viewBox', '0 0 20 20');
  star.setAttribute('height', '1em');
  widget.inside = [star, ' ', mean, ' ', el('u', 0, say('fromRatings', { n: number(count) }))];
  widget.between = ' · ';
}];
