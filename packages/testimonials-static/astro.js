// The integration for Astro: import home from 'testimonials:home', then <Fragment set:html={home} />.
import { fileURLToPath } from 'node:url';

import { build } from './index.js';

const PREFIX = 'testimonials:';

/** `sources` are addresses of fragments by names of your own. */
export default function testimonials(sources) {
  return {
    name: 'testimonials-static',
    hooks: {
      'astro:config:setup': async ({ config, updateConfig }) => {
        const pictures = fileURLToPath(new URL('testimonials/', config.publicDir));
        const path = `${config.base.replace(/\/?$/, '/')}testimonials/`;
        const found = await build(sources, { pictures, path });
        const plugin = {
          name: 'testimonials-static',
          resolveId: (id) => (id.startsWith(PREFIX) && id.slice(PREFIX.length) in found ? `\0${id}` : undefined),
          load: (id) => id.startsWith(`\0${PREFIX}`) ? `export default ${JSON.stringify(found[id.slice(PREFIX.length + 1)])}` : undefined,
        };
        updateConfig({ vite: { plugins: [plugin] } });
      },
      'astro:config:done': ({ injectTypes }) => {
        const content = `declare module '${PREFIX}*' { const html: string; export default html; }`;
        injectTypes({ filename: 'testimonials.d.ts', content });
      },
    },
  };
}
