// Loading pages of the dashboard as documents.
export const parse = async (answer) => new DOMParser().parseFromString(await answer.text(), 'text/html');

// The page at a URL; null if it can't be loaded, or redirects.
export async function readPage(url) {
  try {
    const answer = await fetch(url, { headers: { Accept: 'text/html' } });
    return answer.ok && !answer.redirected ? await parse(answer) : null;
  } catch {
    return null;
  }
}
