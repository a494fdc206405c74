import { readFile } from 'node:fs/promises';

export default async function Home() {
  const html = await readFile('testimonials/home.html', 'utf8');
  return (
    <main>
      <h1>Oat &amp; Ember</h1>
      <div dangerouslySetInnerHTML={{ __html: html }} suppressHydrationWarning />
    </main>
  );
}
