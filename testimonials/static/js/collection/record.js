// The way into the recorder, which is loaded once somebody chooses to record, or has a recording in
// this browser that was not sent.

import { showProblem } from '../post.js';
import { recall } from '../storage.js';

// The form has different texts for recordings ("video" or "voice") and for what is "written".
export function tellKind(form, kind) {
  form.dataset.kind = kind;
  for (const each of form.querySelectorAll('[data-for]')) each.hidden = !each.dataset.for.split(' ').includes(kind);
  form.dispatchEvent(new CustomEvent('kind', { detail: kind }));
}

// Null if the project takes no recordings.
export function setUpRecord(form) {
  const panel = form.querySelector('[data-record]');
  if (!panel) return null;
  const find = (name) => panel.querySelector(`[data-${name}]`);
  const file = panel.querySelector('[name="recording_file"]');
  let loading = null;
  const load = () => {
    loading ??= import('./recorder/recorder.js').then((module) => module.setUpRecorder(form));
    loading.catch(() => { loading = null; });
    return loading;
  };
  const start = async (work) => {
    showProblem(find('record-problem'), '');
    try {
      work(await load());
    } catch {
      showProblem(find('record-problem'), panel.dataset.sayUnloaded);
    }
  };

  tellKind(form, 'written');
  panel.classList.add('is-ready');
  find('explain').hidden = false;
  // A phone would open its camera rather than its files.
  file.removeAttribute('capture');
  file.accept = panel.dataset.kinds.replace('voice', 'audio').split(' ').map((kind) => `${kind}/*`).join(',');
  file.addEventListener('change', () => {
    const [chosen] = file.files;
    if (chosen) start((recorder) => recorder.takeFile(chosen));
    file.value = '';
  });
  panel.addEventListener('click', (event) => {
    const kind = event.target.closest('[data-start]')?.dataset.start;
    if (kind) start((recorder) => recorder.start(kind));
  });
  form.addEventListener('way', (event) => { if (event.detail === 'record') load().catch(() => {}); });
  if (recall(`testimonials-recording:${form.dataset.draft}`)) load().catch(() => {});

  return {
    // Resolve when the recording has been sent, so that the form may follow.
    ready: async () => (await loading)?.ready(),
    end: async () => (await loading)?.end(),
    forget: async () => (await loading)?.forget(),
  };
}
