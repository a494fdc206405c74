// What this browser remembers. Storage may be full or forbidden: then it remembers nothing.

export function recall(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

export function remember(key, text) {
  try { localStorage.setItem(key, text); } catch { /* See above. */ }
}

export function forget(key) {
  try { localStorage.removeItem(key); } catch { /* See above. */ }
}
