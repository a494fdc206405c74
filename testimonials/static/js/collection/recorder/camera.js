// Camera and microphone: opening them, and whether there is light and sound.

// The first that the browser can write. Every browser can play MP4 with H.264.
const TYPES = {
  video: [
    'video/mp4;codecs=avc1.42E01F,mp4a.40.2', 'video/webm;codecs=vp8,opus', 'video/webm', 'video/mp4',
  ],
  voice: ['audio/mp4;codecs=mp4a.40.2', 'audio/webm;codecs=opus', 'audio/webm', 'audio/mp4'],
};
const DARK = 48;
const HEARD = 0.02;

export const typeOf = (kind) => TYPES[kind].find((type) => MediaRecorder.isTypeSupported(type)) ?? '';

// Throw an error named "NotAllowedError" if the person or the browser refuses.
export async function openDevices(kind, facing) {
  if (!navigator.mediaDevices?.getUserMedia || !window.MediaRecorder) throw new Error('Not here');
  return navigator.mediaDevices.getUserMedia({
    audio: { echoCancellation: true, noiseSuppression: true },
    video: kind === 'video' && {
      facingMode: facing, width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30, max: 30 },
    },
  });
}

export function close(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

export async function hasOtherCamera() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices.filter((device) => device.kind === 'videoinput').length > 1;
}

// Report ten times a second how loud it is (0 to 1) and whether anybody has spoken so far, and once
// a second whether the picture is dark. Return a function that stops it.
export function watchLevels(stream, picture, { tellSound, tellLight }) {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const small = document.createElement('canvas');
  small.width = 16;
  small.height = 16;
  const pixels = small.getContext('2d', { willReadFrequently: true });
  let round = 0;
  let wasHeard = false;
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    const loudness = Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length);
    wasHeard ||= loudness > HEARD;
    tellSound(Math.min(1, loudness * 6), wasHeard);
    round += 1;
    if (!picture?.videoWidth || round % 10 !== 5) return;
    pixels.drawImage(picture, 0, 0, 16, 16);
    const { data } = pixels.getImageData(0, 0, 16, 16);
    let sum = 0;
    for (let at = 0; at < data.length; at += 4) sum += 0.3 * data[at] + 0.6 * data[at + 1] + 0.1 * data[at + 2];
    tellLight(sum / 256 < DARK);
  }, 100);
  return () => {
    clearInterval(timer);
    context.close();
  };
}
