// Testimonials at build time: the service's HTML, with the authors' pictures copied beside the site.
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const KINDS = {
  'image/webp': 'webp', 'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif',
  'image/avif': 'avif', 'image/svg+xml': 'svg',
};
const MOST_BYTES = 5_000_000;
const MOST_MS = 30_000;
const AT_ONCE = 6;
// What the pictures of an earlier build are called.
const OURS = /^[0-9a-f]{20}\.(webp|png|jpg|gif|avif|svg)$/;
const IMG = /<img\b[^>]*?\bsrc="([^"]*)"[^>]*>/g;
const WIDGET = /<div\b[^>]*\bdata-testimonial-ids=[^>]*>/g;

/**
 * Fetch testimonials for a site that is being built.
 *
 * `sources` are addresses of fragments by names of your own; their pictures go to the folder
 * `pictures`, which the site serves at `path`. Returns the HTML by the same names. Throws when the
 * service can't be reached or refuses: the build fails, rather than shows what may be withdrawn.
 */
export async function build(sources, { pictures, path }) {
  const found = {};
  const files = new Map();
  for (const [name, address] of Object.entries(sources)) {
    const html = await (await ask(address)).text();
    found[name] = html.replace('<div ', () => `<div data-testimonials-from="${escape(address)}" `);
    for (const [, src] of html.matchAll(IMG)) files.set(src, null);
  }
  await mkdir(pictures, { recursive: true });
  const waiting = [...files.keys()];
  const copyNext = async () => {
    for (let src; (src = waiting.pop()); ) files.set(src, await copy(unescape(src), pictures));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, copyNext));
  // Faces of people who have withdrawn must not stay on the site.
  const used = new Set(files.values());
  for (const name of await readdir(pictures)) {
    if (OURS.test(name) && !used.has(name)) await rm(join(pictures, name));
  }
  for (const name in found) {
    // Initials stand below a picture that couldn't be had.
    found[name] = found[name].replace(IMG, (img, src) =>
      files.get(src) ? img.replace(src, () => `${path.replace(/\/?$/, '/')}${files.get(src)}`) : '');
  }
  return found;
}

/** Return a line for each testimonial in the HTML below `folder` that its service shows no more. */
export async function check(folder) {
  const places = new Map();
  for (const name of await readdir(folder, { recursive: true })) {
    if (!/\.html?$/.test(name)) continue;
    for (const [tag] of (await readFile(join(folder, name), 'utf8')).matchAll(WIDGET)) {
      const address = readAttribute(tag, 'data-testimonials-from');
      if (!places.has(address)) places.set(address, new Map());
      for (const id of readIds(tag)) places.get(address).set(id, name);
    }
  }
  const gone = [];
  for (const [address, ids] of places) {
    const shown = new Set(await askForIds(address));
    for (const [id, name] of ids) {
      // One that newer ones have pushed out is still shown by itself.
      if (shown.has(id) || (await askForIds(new URL(`?id=${id}`, address))).includes(id)) continue;
      gone.push(`${name}: the testimonial ${id} is no longer shown`);
    }
  }
  return gone;
}

async function askForIds(address) {
  return [...(await (await ask(address)).text()).matchAll(WIDGET)].flatMap(([tag]) => readIds(tag));
}

const readIds = (tag) => readAttribute(tag, 'data-testimonial-ids').split(' ').filter(Boolean);

// Whatever has squeezed the HTML may have left out the quotation marks.
function readAttribute(tag, name) {
  const [, ...texts] = new RegExp(`\\b${name}=(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`).exec(tag) ?? [];
  return unescape(texts.find((text) => text !== undefined) ?? '');
}

async function copy(url, folder) {
  try {
    const answer = await ask(url);
    const kind = KINDS[(answer.headers.get('content-type') ?? '').split(';')[0].trim()];
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (!kind || bytes.length > MOST_BYTES) throw new Error(`${url} is no picture`);
    const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 20)}.${kind}`;
    await writeFile(join(folder, name), bytes);
    return name;
  } catch (error) {
    console.warn(`testimonials-static: left out a picture: ${error.message}`);
    return null;
  }
}

async function ask(address) {
  let answer;
  try {
    answer = await fetch(address, { signal: AbortSignal.timeout(MOST_MS) });
  } catch (error) {
    throw new Error(`${address} can’t be reached (${error.cause?.code ?? error.message})`);
  }
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`);
  return answer;
}

const SIGNS = { '&': '&amp;', '"': '&#34;', '<': '&lt;', '>': '&gt;' };
const escape = (text) => String(text).replace(/[&"<>]/g, (sign) => SIGNS[sign]);
const TEXTS = { '&amp;': '&', '&#34;': '"', '&quot;': '"', '&#39;': "'", '&lt;': '<', '&gt;': '>' };
const unescape = (text) => text.replace(/&(?:amp|#34|quot|#39|lt|gt);/g, (each) => TEXTS[each]);
