// The settings as the widget gets them, from the controls of the form: what `widget_values.py` does
// when they are saved, so that the preview need not wait for that.

const CONFIG = ['theme', 'palette', 'cardStyle', 'initialCount', 'showSource', 'showCtaButton'];
const DESIGN = ['font', 'density', 'cardWidth', 'featured', 'showHeader', 'showHighlights'];
// What only the server can tell: which testimonials these select, and what is written on buttons.
export const ASKED = [
  'order', 'minRating', 'tags', 'minLength', 'onlyChosen', 'shape',
  'labelShowMore', 'labelReadMore', 'labelShowLess',
];

const pick = (values, names) => Object.fromEntries(names.map((name) => [name, values[name]]));

export function toConfig(values) {
  // One row, whatever the layout is.
  if (values.shape === 'strip') return { ...toConfig({ ...values, shape: '' }), layout: 'carousel' };
  const isMarquee = values.layout === 'marquee';
  return {
    ...pick(values, CONFIG),
    // A spotlight takes the place of whatever lies below.
    layout: isMarquee ? 'carousel' : values.layout === 'spotlight' ? 'masonry' : values.layout,
    animation: isMarquee ? (values.marquee === 'vertical' ? 'vertical' : 'horizontal') : 'none',
    showStars: values.stars !== 'off',
    showDates: values.dates !== 'off',
  };
}

export function toDesign(values) {
  return {
    ...pick(values, [...DESIGN, 'radius', 'photoSize']),
    layout: values.layout === 'spotlight' ? 'spotlight' : '',
    marqueeRows: values.marquee === 'one' ? 1 : 2,
    starColor: values.stars === 'brand' ? 'brand' : 'gold',
    dateStyle: values.dates === 'off' ? 'relative' : values.dates,
  };
}

export function isSame(one, other) {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

// Return what of `after` differs from `before`, both of the form's controls.
export function difference(before, after) {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => !isSame(before[name], value)));
}
