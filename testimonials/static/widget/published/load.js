// The data as files of a static host. Whatever has no file there is asked of the service.
const SERVICE = 'service';
const LANGUAGES = 'languages'.split(' ');
const get = async (url) => {
  const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(8000) });
  if (!response.ok) throw Error('HTTP ' + response.status);
  return response.json();
};
// A file is named as its query is: feed.widget-home.lang-de.json.
const nameFile = ({ searchParams }) => [...searchParams].map(([name, value]) => `.${name}-${name === 'lang' && !LANGUAGES.includes(value) ? 'en' : value}`).join('') + '.json';
const load = async (address, signal) => {
  const url = new URL(address);
  const name = nameFile(url);
  const asked = SERVICE + url.href.slice(BASE.length);
  const data = await (/[^\w.-]|\.(id|tag|min)-/.test(name) ? get(asked) : get(BASE + url.pathname.split('/').slice(-2).join('/') + name).catch(() => get(asked)));
  signal.throwIfAborted();
  // Where to tell what was seen.
  data.service = SERVICE;
  return data;
};

