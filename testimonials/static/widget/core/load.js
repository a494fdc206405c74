// How the widget gets its data.
const load = async (url, signal) => {
  const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(8000) });
  if (!response.ok) throw Error('HTTP ' + response.status);
  const data = await response.json();
  signal.throwIfAborted();
  return data;
};

