// What a recording looks like: a picture of its first second, and how long it is.

const PATIENCE = 6000;
const LONGEST_SIDE = 960;

const happens = (element, name) => new Promise((resolve, reject) => {
  const stop = AbortSignal.timeout(PATIENCE);
  element.addEventListener(name, resolve, { once: true, signal: stop });
  element.addEventListener('error', reject, { once: true, signal: stop });
  stop.addEventListener('abort', reject, { once: true });
});

const toBlob = (canvas, kind) => new Promise((resolve) => { canvas.toBlob(resolve, kind, 0.82); });

// Chromium writes no duration into what it records, and finds it only by seeking to the end.
export async function findEnd(player) {
  if (Number.isFinite(player.duration)) return;
  const sought = happens(player, 'seeked');
  player.currentTime = 1e7;
  await sought;
}

// `seconds` is null if the browser can't tell, `poster` if it can't show the file.
export async function lookInto(blob, kind) {
  const player = document.createElement(kind === 'video' ? 'video' : 'audio');
  const url = URL.createObjectURL(blob);
  const found = { seconds: null, poster: null, isPlayable: false };
  player.muted = true;
  player.playsInline = true;
  player.preload = 'auto';
  try {
    const loaded = happens(player, kind === 'video' ? 'loadeddata' : 'loadedmetadata');
    player.src = url;
    await loaded;
    found.isPlayable = true;
    await findEnd(player);
    if (Number.isFinite(player.duration)) found.seconds = player.duration;
    if (kind === 'video') found.poster = await draw(player);
  } catch { /* What it can't play has no picture. */ }
  player.removeAttribute('src');
  URL.revokeObjectURL(url);
  return found;
}

async function draw(player) {
  if (!player.videoWidth) return null;
  const sought = happens(player, 'seeked');
  player.currentTime = Math.min(1, player.duration / 2);
  await sought;
  const scale = Math.min(1, LONGEST_SIDE / Math.max(player.videoWidth, player.videoHeight));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(player.videoWidth * scale);
  canvas.height = Math.round(player.videoHeight * scale);
  canvas.getContext('2d').drawImage(player, 0, 0, canvas.width, canvas.height);
  const picture = await toBlob(canvas, 'image/webp');
  // A browser that can't write WebP gives a large PNG.
  return picture?.type === 'image/webp' ? picture : toBlob(canvas, 'image/jpeg');
}
