import testimonials from 'testimonials-static/eleventy';

export default function (eleventyConfig) {
  eleventyConfig.addPlugin(testimonials, { sources: { home: process.env.TESTIMONIALS } });
}
