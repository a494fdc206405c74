// Card styles other than the default one, and the featured card. The second quotation mark is the
// first one again.
const QUOTE = 'M17.5 0 20 4.2c-4.4 2.4-7.4 5.8-8 10 5-1.4 9.2 2.4 9.2 8C21.2 27.8 17 32 11.4 32 4.6 32 0 27 0 19.3 0 10.8 6.2 3.6 17.5 0z';

export default [`looks.css`, ({ el, extensions, feed: { config } }) => {
  extensions.push(({ featured, figure, top }) => {
    if ((featured || config.cardStyle === 'quote') && !top.querySelector('.source')) figure.prepend(el('svg', { class: 'glyph', viewBox: '0 0 44 32', 'aria-hidden': true }, el('path', { d: QUOTE }), el('path', { d: QUOTE, transform: 'translate(22.7)' })));
  });
}];
