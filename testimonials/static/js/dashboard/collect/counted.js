import { fill } from '../../post.js';

const rules = new Intl.PluralRules(document.documentElement.lang || 'en');

// What an element says of a number: it has a text for each form, such as data-say-one.
export function count(element, what, number) {
  const form = rules.select(number);
  const name = (each) => `${what}${each[0].toUpperCase()}${each.slice(1)}`;
  return fill(element.dataset[name(form)] ?? element.dataset[name('other')], { count: number });
}
