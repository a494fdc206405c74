import { fill } from '../post.js';

const rules = new Intl.PluralRules(document.documentElement.lang || 'en');

// An element's text for a number, or for one that is at least so large such as "1000+", by plural form,
// such as data-say-one.
export function count(element, what, number) {
  const form = Number.isInteger(number) ? rules.select(number) : 'other';
  const name = (each) => `${what}${each[0].toUpperCase()}${each.slice(1)}`;
  return fill(element.dataset[name(form)] ?? element.dataset[name('other')], { count: number });
}
