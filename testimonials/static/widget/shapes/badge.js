// A line with the average, which leads to the wall.
const drawBadge = ({ feed, foot, el, stars, webUrl }) => {
  const { average, label, url } = feed.badge;
  foot.replaceWith(el('a', { class: 'button badge', href: webUrl(url), target: '_blank', rel: 'noopener', lang: 'en' },
    stars(average), el('b', {}, average), el('span', {}, label)));
  return {};
};
