#!/usr/bin/env node
// testimonials-static build and check, for Hugo, Next.js and whatever else runs a command.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { build, check } from './index.js';

const USAGE = `Usage:
  testimonials-static build NAME=FRAGMENT... --html DIR --pictures DIR --path PATH
      Write the HTML of each address to DIR/NAME.html, and its pictures to a folder that the
      site serves at PATH.
  testimonials-static check DIR
      Fail if the built site in DIR shows a testimonial that its service no longer shows.`;

const options = { html: { type: 'string' }, pictures: { type: 'string' }, path: { type: 'string' } };

async function run() {
  let given;
  try {
    given = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return stop(`${error.message}\n${USAGE}`, 2);
  }
  const { values: { html, pictures, path }, positionals: [command, ...rest] } = given;
  if (command === 'check' && rest.length === 1) {
    const gone = await check(rest[0]);
    return gone.length ? stop(`${gone.join('\n')}\nBuild the site again.`, 1) : undefined;
  }
  const sources = rest.map((each) => /^([\w-]+)=(https?:\/\/.+)$/.exec(each)?.slice(1));
  if (command !== 'build' || !html || !pictures || !path || !sources.length || sources.includes(undefined)) {
    return stop(USAGE, 2);
  }
  const found = await build(Object.fromEntries(sources), { pictures, path });
  await mkdir(html, { recursive: true });
  for (const name in found) await writeFile(join(html, `${name}.html`), found[name]);
}

function stop(message, code) {
  console.error(message);
  process.exitCode = code;
}

run().catch((error) => stop(`testimonials-static: ${error.message}`, 1));
