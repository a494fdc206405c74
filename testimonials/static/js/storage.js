// The browser's storage, which may be full or forbidden: then nothing is stored.

export function recall(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

export function remember(key, text) {
  try { localStorage.setItem(key, text); } catch { /* See above. */ }
}

export function forget(key) {
  try { localStorage.removeItem(key); } catch { /* See above. */ }
}
