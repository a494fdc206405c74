// Plays recordings where they stand on pages rendered by the server; without it, their links open
// pages of their own.
import { makePlayable } from './playing.js';

for (const link of document.querySelectorAll('.play')) makePlayable(link.parentNode, () => {});
