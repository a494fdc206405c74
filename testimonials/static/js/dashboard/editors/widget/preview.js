// The frame with the real widget: what it is told, and what it tells.
import { send } from '../../../post.js';
import { page } from './page.js';
import { find, paint } from './colours.js';
import { complete } from './fields.js';
import { ASKED, isSame, toConfig, toDesign } from './settings.js';

const form = document.querySelector('[data-editor]');
const frame = document.querySelector('[data-preview]');
const note = document.querySelector('[data-note]');
const sets = document.querySelector('[data-set]');
const views = [...document.querySelectorAll('[data-view]')];
const cta = form.querySelector('[data-cta]').dataset;
const { feedUrl } = form.dataset;

const nowBox = document.querySelector('[data-box-now]');
const stage = document.querySelector('[data-stage]');
const view = () => views.find((each) => each.checked).value;
const isAsked = (one, other) => ASKED.some((name) => name in one && !isSame(one[name], other[name]));

function explain(total, data) {
  if (total) return '';
  if (data !== 'real') return form.dataset.sayNothing;
  if (frame.dataset.active !== 'true') return form.dataset.sayPaused;
  return form.dataset.sayNoneSelected;
}

// `values()` are the form's, `stored` those that the frame came with, `colour()` the widget's own.
// Return `show()`.
export function startPreview(values, stored, colour, ground, fit) {
  // What the testimonials in the frame were selected by, and how often they were asked for anew.
  let selected = { ...stored };
  let feed = null;
  let round = 0;
  // A colour that isn't derived yet shows a moment later.
  let derived = null;
  let asked = 0;
  let published = 0;

  function show() {
    const now = values();
    derived = find(colour()) ?? derived;
    sets.disabled = view() === 'now';
    const ownPage = { ...page, colour: ground() };
    const live = { view: 'now', data: 'real', page: ownPage, round: -published };
    const draft = {
      view: 'draft',
      data: sets.value,
      page: ownPage,
      config: toConfig(now),
      design: toDesign(now),
      colours: paint(derived, now.stars),
      cta: { label: now.ctaLabel || cta.label, url: complete(now.ctaUrl) || cta.url },
      round,
      feed,
    };
    frame.contentWindow.postMessage(view() === 'now' ? live : draft, location.origin);
    showBeside(live);
    if (isAsked(now, selected)) select(now);
  }

  // A second frame with what visitors see, made when it is wanted first.
  let beside = null;
  function showBeside(message) {
    const isWanted = view() === 'both';
    if (isWanted && !beside) {
      beside = frame.cloneNode();
      beside.title = form.dataset.sayLive;
      beside.removeAttribute('data-preview');
      nowBox.append(beside);
    }
    if (nowBox.hidden === isWanted) {
      nowBox.hidden = !isWanted;
      stage.classList.toggle('is-both', isWanted);
      fit();
    }
    if (isWanted) beside.contentWindow.postMessage(message, location.origin);
  }

  // Only the server knows which testimonials are meant.
  async function select(now) {
    const mine = ++asked;
    selected = { ...now };
    try {
      const answer = await send(feedUrl, new URLSearchParams(now));
      if (!answer.ok || mine !== asked) return;
      feed = await answer.json();
      round = mine;
      show();
    } catch { /* The state of saving tells that the server can't be reached. */ }
  }

  sets.addEventListener('change', show);
  for (const each of views) each.addEventListener('change', show);
  addEventListener('message', (event) => {
    const isOurs = [frame, beside].some((each) => each && event.source === each.contentWindow);
    if (!isOurs || event.origin !== location.origin) return;
    if (event.data.type === 'hello') show();
    if (event.source !== frame.contentWindow) return;
    if (event.data.type === 'shown') {
      note.textContent = explain(event.data.total, event.data.data);
      note.hidden = !note.textContent;
    }
  });
  return {
    show,
    // Visitors see something else now.
    showPublished() {
      published += 1;
      show();
    },
    // Go back to what is being changed, which is what a change is for.
    showDraft() {
      if (view() === 'now') for (const each of views) each.checked = each.value === 'draft';
      show();
    },
  };
}
