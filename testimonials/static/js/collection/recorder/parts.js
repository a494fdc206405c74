// The recorder's page elements, and formatting its numbers.

import { Failure, send } from '../../post.js';

const language = document.documentElement.lang;

export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

// "48 seconds", in the page's language.
export const inUnit = (number, unit, unitDisplay = 'long') => new Intl.NumberFormat(language, {
  style: 'unit', unit, unitDisplay, numberingSystem: 'latn', maximumFractionDigits: 0,
}).format(number);

// Never "0 MB".
export const megabytes = (bytes) => (bytes ? Math.max(1, Math.round(bytes / 1e6)) : 0);
export const inMegabytes = (bytes) => inUnit(megabytes(bytes), 'megabyte', 'short');

// "1:05"
export function clock(seconds) {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

// Show what belongs to a view and to video or voice, and hide the rest.
export function show(root, view, kind, kinds) {
  for (const each of root.querySelectorAll('[data-in], [data-mode], [data-needs]')) {
    const { in: views, mode, needs } = each.dataset;
    const isShown = (!views || views.split(' ').includes(view)) && (!mode || mode === kind) && (!needs || kinds.includes(needs));
    // SVG elements have the attribute, but not the property.
    each.toggleAttribute('hidden', !isShown);
  }
  for (const each of root.querySelectorAll('[data-do="video"], [data-do="voice"]')) {
    if (!kinds.includes(each.dataset.do)) each.hidden = true;
  }
}

function loadSheet(url) {
  return new Promise((resolve, reject) => {
    const sheet = document.createElement('link');
    sheet.rel = 'stylesheet';
    sheet.href = url;
    sheet.onload = resolve;
    sheet.onerror = () => {
      sheet.remove();
      reject(new Failure('lost'));
    };
    document.head.append(sheet);
  });
}

// Fetch the recorder, the card and what is shown while sending. Throw a Failure if that fails.
export async function loadParts({ recorderUrl, sheet }) {
  const fetched = send(recorderUrl, null, { method: 'GET', accept: 'text/html' });
  const [answer] = await Promise.all([fetched, loadSheet(sheet)]);
  if (!answer.ok) throw new Failure('fault');
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const part = (name) => document.adoptNode(page.querySelector(`[data-${name}]`));
  const parts = { dialog: part('recorder'), card: part('card'), sending: part('sending') };
  document.body.append(parts.dialog);
  return parts;
}
