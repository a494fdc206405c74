// Ways to embed the widget, or to connect an agent, as tabs; without a script they are links.

const nav = document.querySelector('[data-platforms]');
const tabs = nav ? [...nav.querySelectorAll('[data-platform]')] : [];
const copyCode = document.querySelector('[data-copy-code]');
const select = document.querySelector('[data-platform-select]');

function choose(tab, focus = false) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.setAttribute('aria-selected', String(isChosen));
    each.tabIndex = isChosen ? 0 : -1;
    document.getElementById(`panel-${each.dataset.platform}`).hidden = !isChosen;
  }
  copyCode.dataset.copy = `code-${tab.dataset.platform}`;
  tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  if (focus) tab.focus();
  if (select) select.value = tab.dataset.platform;
  const here = new URL(location.href);
  here.searchParams.set(nav.dataset.platforms || 'platform', tab.dataset.platform);
  here.hash = '';
  history.replaceState(null, '', here);
}

if (nav) {
  const list = nav.querySelector('ul');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', nav.getAttribute('aria-label'));
  // A list of tabs is no navigation any more.
  nav.setAttribute('role', 'presentation');
  nav.removeAttribute('aria-label');
  const first = tabs.find((tab) => tab.hasAttribute('aria-current'));
  for (const tab of tabs) {
    tab.parentElement.setAttribute('role', 'presentation');
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-selected', String(tab === first));
    tab.setAttribute('aria-controls', `panel-${tab.dataset.platform}`);
    tab.removeAttribute('aria-current');
    tab.tabIndex = tab === first ? 0 : -1;
    const panel = document.getElementById(`panel-${tab.dataset.platform}`);
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    panel.tabIndex = 0;
    tab.addEventListener('click', (event) => {
      // With a modifier it stays a link that opens elsewhere.
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      choose(tab);
    });
  }
  // On a phone the same names are a list.
  select?.addEventListener('change', () => choose(tabs.find((tab) => tab.dataset.platform === select.value)));
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(document.activeElement);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const forward = getComputedStyle(list).direction === 'rtl' ? -1 : 1;
    const to = {
      ArrowRight: at + forward, ArrowLeft: at - forward, Home: 0, End: tabs.length - 1,
    }[event.key];
    if (event.key === ' ') {
      event.preventDefault();
      choose(tabs[at]);
    } else if (to !== undefined) {
      event.preventDefault();
      choose(tabs[(to + tabs.length) % tabs.length], true);
    }
  });
}
