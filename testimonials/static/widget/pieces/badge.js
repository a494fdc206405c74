// The average of all ratings in a pill, or with contents from another piece.
export default [`badge.css`, (widget) => {
  const { feed: { badge, header: { average, count }, proof }, host, root, el, number, say, stars } = widget;
  const link = (name, href, ...inside) => el('a', { class: name, href, target: '_blank' }, ...inside);
  widget.inside = [stars(average), el('b', 0, number(average.toFixed(1))), el('span', 0, say('ratings', { n: number(count) }))];
  widget.fill = () => {
    root.className = widget.look;
    root.append(link('badge', badge.url, ...widget.inside), widget.between || ' ', link('proof', proof.url, proof.label));
    host.dataset.testimonialsCount = count;
  };
}];
