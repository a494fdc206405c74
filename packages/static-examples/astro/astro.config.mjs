import { defineConfig } from 'astro/config';
import testimonials from 'testimonials-static/astro';

export default defineConfig({
  integrations: [testimonials({ home: process.env.TESTIMONIALS })],
});
