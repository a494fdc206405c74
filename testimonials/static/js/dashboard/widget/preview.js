// Answers the widget's requests inside the editor's preview. The widget's own file runs unchanged
// after this one, and gets the edited settings with the chosen testimonials.

const root = document.documentElement;
const main = document.querySelector('main');
const project = root.dataset.project;
let real = JSON.parse(document.getElementById('feed').textContent);
// The published view comes from the network, as for visitors.
let state = { view: 'draft', data: 'real', round: 0 };

/* ------------------------------------------------------------ what it shows */

const initials = (name) => name.split(' ').map(([letter]) => letter).filter((_, i, { length }) => !i || i === length - 1).join('');
const made = (items) => ({ items: items.map((item, index) => ({ id: `preview-${index}`, rating: 5, face: [initials(item.authorName), index % 3], authorRole: '', submittedAt: `2026-0${6 - (index % 6)}-1${index % 10}T10:00:00.000Z`, ...item })), next: null });

const WORDS = 'We had put this off for a long time, because nobody likes to change what somehow works. It took one quiet afternoon, and since then it has simply been part of the day. ';
const NAME = 'Wolfeschlegelsteinhausenbergerdorff-Papadimitriou Featherstonehaugh the Elder of Llanfairpwllgwyngyll';

// Each is reported once, but never what visitors can't see yet.
const SETS = {
  real: () => ({ items: real.items, next: real.next }),
  none: () => made([]),
  one: () => made([{ authorName: 'Maya Kowalski', authorRole: 'Owner', authorCompany: 'Kiln & Clay Studio', twitter: { handle: 'mayakowalski' }, text: 'It took one quiet afternoon, and since then it has simply been part of how we work.' }]),
  long: () => made([
    { authorName: NAME, authorRole: 'Deputy assistant to the vice-chair of the committee for long titles', authorCompany: 'The Worshipful Company of Makers of Remarkably Long Company Names, Ltd.', text: WORDS.repeat(20).slice(0, 2000) },
    { authorName: 'N'.repeat(120), authorRole: 'R'.repeat(120), rating: 4.5, text: 'W'.repeat(2000) },
    { authorName: 'Al', text: 'Good.', rating: 4 },
    { authorName: 'Tom Okafor', authorRole: 'Operations lead', twitter: { handle: 'tom_okafor_4567' }, text: WORDS.repeat(3).trim() },
    { authorName: 'Aiko Tanaka', authorRole: 'Event planner', text: 'My clients notice the details.\n\nSo do I.' },
    { authorName: 'Lucía Fernández', authorRole: 'Teacher', text: WORDS.repeat(7).trim(), rating: 3 },
  ]),
  rtl: () => made([
    { authorName: 'ليلى منصور', authorRole: 'مصممة داخلية', text: 'صالون هادئ ونظيف، والموعد يبدأ في وقته دائمًا. طلبت خصلات خفيفة تناسب لون شعري الطبيعي، وكانت النتيجة أجمل مما تخيلت.' },
    { authorName: 'נועה ברק', authorRole: 'מורה', authorCompany: 'בית ספר הנמל', rating: 4.5, text: 'הקשיבו לשאלה שלי עד הסוף, ענו בדיוק עליה, וחזרו אליי אחרי שבוע לשאול אם זה עזר. זה עזר.' },
    { authorName: 'يوسف العلي', authorRole: 'مهندس', text: 'خدمة سريعة وواضحة.' },
    { authorName: 'דניאל לוי', authorRole: 'צלם', text: 'קצר ולעניין: עושים מה שאומרים, ובזמן.' },
    { authorName: 'مريم حداد', authorCompany: 'Studio 54', rating: 4, text: 'أول مرة أخرج من دون أن أشرح كل شيء مرتين. سأعود مع Tom في مارس.' },
    { authorName: 'רות כהן', authorRole: 'גינון', text: 'האנשים הם הסיבה שנשארתי.' },
  ]),
};
let pools = {};
const pool = () => (pools[state.data] ??= SETS[state.data]());

/* ------------------------------------------------- in place of the network */

const goOut = window.fetch.bind(window);
const isFeed = (url) => url.pathname.endsWith(`/widget/${project}/feed`);

async function answer(url) {
  const here = pool();
  const from = Number(url.searchParams.get('after')) || 0;
  const until = from + real.config.initialCount;
  // Real testimonials beyond those in this page come from the public feed.
  while (here.next && here.items.length < until) {
    const response = await goOut(`${url.pathname}?after=${encodeURIComponent(here.next)}`);
    if (!response.ok) return response;
    const { items, next } = await response.json();
    here.items.push(...items);
    here.next = next;
  }
  const isReal = state.data === 'real';
  const total = isReal ? real.total : here.items.length;
  return Response.json({
    ...real,
    project: isReal ? real.project : { ...real.project, active: true },
    total,
    draw: isReal ? real.draw : `${real.draws[Math.min(total, 2)]} extras`,
    items: here.items.slice(from, until),
    next: here.next || here.items.length > until ? String(until) : null,
  });
}

window.fetch = (input, options) => {
  const url = new URL(input, location);
  return isFeed(url) && state.view === 'draft' ? answer(url) : goOut(input, options);
};

/* ---------------------------------------------------------------- drawing */

let shown = null;
let next = null;
let last = null;

// The owner's page: its color and font, or a screenshot above and below the widget.
function showPage({ picture, place }) {
  const light = root.dataset.ground || '#FAFAFA';
  const dark = '#0B0B0D';
  const { theme } = real.config;
  if (root.dataset.font) root.style.fontFamily = root.dataset.font;
  root.style.colorScheme = theme === 'auto' ? 'light dark' : theme;
  root.style.background = { light, dark }[theme] ?? `light-dark(${light}, ${dark})`;
  root.classList.toggle('has-picture', Boolean(picture));
  if (!picture) return;
  root.style.setProperty('--picture', `url("${picture}")`);
  root.style.setProperty('--place', place / 100);
  const image = new Image();
  image.onload = () => root.style.setProperty('--ratio', image.height / image.width);
  image.src = picture;
}

// Settings of a running widget can't change, so a new one replaces it.
function draw() {
  const isRtl = state.view === 'draft' && state.data === 'rtl';
  root.dir = isRtl ? 'rtl' : 'ltr';
  root.lang = isRtl ? 'ar' : 'en';
  next?.remove();
  next = document.createElement('div');
  next.className = 'stage is-next';
  const place = document.createElement('div');
  place.dataset.testimonialsProject = project;
  if (root.dataset.widget) place.dataset.testimonialsWidget = root.dataset.widget;
  next.append(place);
  main.append(next);
}

function tell(message) {
  if (parent !== window) parent.postMessage(message, location.origin);
}

for (const name of ['ready', 'error']) {
  document.addEventListener(`testimonials:${name}`, (event) => {
    if (!next?.contains(event.target)) return;
    shown?.remove();
    next.classList.remove('is-next');
    shown = next;
    next = null;
    tell({ type: 'shown', total: event.detail.total, data: state.data });
  });
}

addEventListener('message', (event) => {
  if (parent === window || event.source !== parent || event.origin !== location.origin) return;
  const { page, feed, ...wanted } = event.data;
  if (!page || !(wanted.data in SETS)) return;
  const isNew = !shown || feed !== last && JSON.stringify(feed) !== JSON.stringify(last) || JSON.stringify(wanted) !== JSON.stringify(state);
  if (feed && JSON.stringify(feed) !== JSON.stringify(last)) {
    // The public feed has no further testimonials of another selection.
    real = { ...feed, items: [...feed.items], next: null };
    pools = {};
  }
  last = feed;
  state = wanted;
  showPage(page);
  // The widget doesn't know about the page around it.
  if (isNew) draw();
});

// Links do nothing here.
for (const type of ['click', 'auxclick']) {
  addEventListener(type, (event) => {
    if (event.composedPath().some((node) => node.localName === 'a')) event.preventDefault();
  }, true);
}

showPage({});
if (parent === window) draw();
else tell({ type: 'hello' });
