// Pages of ours, read as documents.
export const parse = async (answer) => new DOMParser().parseFromString(await answer.text(), 'text/html');

// The page at an address; null without a line, or if whoever is here now doesn't see it.
export async function readPage(url) {
  try {
    const answer = await fetch(url, { headers: { Accept: 'text/html' } });
    return answer.ok && !answer.redirected ? await parse(answer) : null;
  } catch {
    return null;
  }
}
