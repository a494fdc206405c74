// The list that one came from, so that one testimonial leads to the next of it and back.
const KEY = 'testimonials-list';

export function keepList(ids) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ url: location.href, ids }));
  } catch { /* Without it there is no next one. */ }
}

export function readList() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}
