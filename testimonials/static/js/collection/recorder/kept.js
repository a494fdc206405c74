// The recording that hasn't been sent yet: this browser keeps it for a day, so a reload or a closed
// laptop loses nothing. If a browser can't store files, it lives as long as the page.

import { forget, remember } from '../../storage.js';

const DAY = 864e5;
// The page looks for this mark before it loads the recorder.
const markOf = (name) => `testimonials-recording:${name}`;

async function run(mode, work) {
  const request = indexedDB.open('testimonials', 1);
  const database = await new Promise((resolve, reject) => {
    request.onupgradeneeded = () => { request.result.createObjectStore('recordings'); };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = request.onerror;
  });
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction('recordings', mode);
      const asked = work(transaction.objectStore('recordings'));
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

export async function keep(name, recording) {
  try {
    await run('readwrite', (store) => store.put(recording, name));
    remember(markOf(name), '1');
  } catch { /* See above. */ }
}

export async function recallRecording(name) {
  try {
    const recording = await run('readonly', (store) => store.get(name));
    if (recording && Date.now() - recording.at < DAY) return recording;
    await drop(name);
  } catch { /* See above. */ }
  return null;
}

export async function drop(name) {
  forget(markOf(name));
  try {
    await run('readwrite', (store) => store.delete(name));
  } catch { /* See above. */ }
}
