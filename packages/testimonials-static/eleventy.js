// The plugin for Eleventy: {{ testimonials.home | safe }} in a template.
import { join } from 'node:path';

import { build } from './index.js';

/** `sources` are addresses of fragments by names of your own; the site begins at `path`. */
export default function testimonials(eleventyConfig, { sources, path = '/' }) {
  let found;
  eleventyConfig.on('eleventy.before', async ({ directories }) => {
    const pictures = join(directories.output, 'testimonials');
    found = await build(sources, { pictures, path: `${path.replace(/\/?$/, '/')}testimonials/` });
  });
  eleventyConfig.addGlobalData('testimonials', () => found);
}
