// The average of all ratings: in a pill, in a corner, in a sentence, or as people.js has it.
export default [`badge.css`, (widget) => {
  const { kind, feed: { badge, header: { average, count }, lang, proof, total }, host, root, el, number, say, stars } = widget;
  widget.fill = () => {
    const star = stars(average);
    const n = number(count);
    const mean = el('b', 0, number(average, 1));
    let inside = [star, mean, el('span', 0, say('ratings', { n }))];
    if (kind === 'badge-sentence') {
      host.dataset.testimonialsInline = '';
      star.setAttribute('viewBox', '0 0 20 20');
      star.setAttribute('width', '1em');
      star.setAttribute('height', '1em');
      inside = [star, ' ', mean, ' ', el('u', 0, say('fromRatings', { n }))];
    }
    const link = (name, href, ...inside) => el('a', { class: name, href, target: '_blank', rel: 'noopener', lang }, ...inside);
    root.append(link('badge', badge.url, ...widget.inside || inside));
    if (proof) root.append(kind === 'badge-sentence' ? ' · ' : ' ', link('proof', proof.url, proof.label));
    host.dataset.testimonialsCount = total;
  };
}];
