// Dates as the browser writes them: with a day, or in a language that the service doesn't speak.
// Setting that up takes a phone a twentieth of a second.
const UNITS = [[365, 'year'], [30, 'month'], [7, 'week'], [0, 'day']];

export default [`dates.css`, (widget) => {
  const { feed: { design: { dateStyle } }, kind, locale } = widget;
  if (dateStyle === 'relative') {
    const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
    widget.writeDate = (date) => {
      const days = Math.max(0, Math.floor((Date.now() - date) / 864e5));
      const [size, unit] = UNITS.find(([size]) => days >= size);
      return format.format(-Math.floor(days / (size || 1)), unit);
    };
  } else {
    const format = new Intl.DateTimeFormat(locale, { day: dateStyle === 'month' ? undefined : 'numeric', month: kind === 'list' ? 'long' : 'short', year: 'numeric', timeZone: 'UTC' });
    widget.writeDate = (date) => format.format(date);
  }
}];
