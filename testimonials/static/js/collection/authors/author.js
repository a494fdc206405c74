// The author's pages work without this file; it formats dates, and copies the link.
import '../../copy.js';

const day = new Intl.DateTimeFormat(document.documentElement.lang, {
  dateStyle: 'medium', timeZone: 'UTC', numberingSystem: 'latn',
});
for (const time of document.querySelectorAll('time[data-day]')) {
  time.textContent = day.format(new Date(time.dateTime));
}
