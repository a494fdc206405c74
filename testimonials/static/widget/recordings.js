// Plays recordings in place on server-rendered pages; without it, their links open separate pages.
import { makePlayable } from './playing.js';

for (const link of document.querySelectorAll('.play')) makePlayable(link.parentNode, () => {});
