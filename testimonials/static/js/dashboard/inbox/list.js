// The list that the person came from, for going to the next testimonial and back.
const KEY = 'testimonials-list';

export function keepList(ids) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ url: location.href, ids }));
  } catch { /* Without a list there is no next one. */ }
}

export function readList() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}
