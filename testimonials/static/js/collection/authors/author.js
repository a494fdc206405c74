// The author's pages work without this file; it copies the link and writes days as people do.
const language = document.documentElement.lang;
const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC', numberingSystem: 'latn' });
for (const time of document.querySelectorAll('time[data-day]')) {
  time.textContent = day.format(new Date(time.dateTime));
}

for (const button of document.querySelectorAll('[data-copy-own]')) {
  const source = document.getElementById(button.dataset.copyOwn);
  const status = document.querySelector('[data-copy-status]');
  const label = button.textContent;
  let timer = 0;
  const say = (text) => {
    button.textContent = text;
    status.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => { button.textContent = label; status.textContent = ''; }, 4000);
  };
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.value);
      say(button.dataset.sayCopied);
    } catch {
      // Pages without HTTPS have no clipboard; the selection makes it one key stroke.
      source.focus();
      source.select();
      say(button.dataset.sayPress);
    }
  });
}
