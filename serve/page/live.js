// Keeps open pages up to date: what the stream says of a part takes its place, unless it is the same. Focus and what was opened stay.
const status = document.querySelector('[data-link]');
const spoken = document.querySelector('[data-spoken]');
const shown = new Map();
let heard = 0;

function key(element) {
  if (element.localName === 'summary') return `summary ${key(element.parentElement)}`;
  return element.id || element.dataset.key || element.getAttribute('href') || element.className;
}

// alike are the stops of the tab key in a part that have one key, in their order: four tiles may lead to one page.
function alike(part, wanted) {
  return Array.from(part.querySelectorAll('a, button, summary, [tabindex], [data-key]')).filter((e) => key(e) === wanted);
}

function replace(name, html) {
  if (shown.get(name) === html) return;
  shown.set(name, html);
  for (const part of document.querySelectorAll(`[data-part="${name}"]`)) {
    const now = document.activeElement;
    const focused = part.contains(now) ? { key: key(now), at: alike(part, key(now)).indexOf(now) } : null;
    const opened = Array.from(part.querySelectorAll('details[open][data-key]')).map(key);
    const left = Array.from(part.querySelectorAll('.scroll')).map((e) => e.scrollLeft);
    part.innerHTML = html;
    part.querySelectorAll('details[data-key]').forEach((e) => { if (opened.includes(key(e))) e.open = true; });
    part.querySelectorAll('.scroll').forEach((e, i) => { e.scrollLeft = left[i] || 0; });
    reach(part);
    dress(part);
    if (focused) {
      const all = alike(part, focused.key);
      (all[focused.at] || all[0])?.focus({ preventScroll: true });
    }
  }
}

// What scrolls sideways is a stop of the tab key, and arrow keys move it; what fits is none.
function reach(part) {
  part.querySelectorAll('.scroll').forEach((element) => {
    if (element.scrollWidth > element.clientWidth) {
      const heading = element.closest('section')?.querySelector('h2, h3')?.textContent;
      element.tabIndex = 0;
      element.setAttribute('role', 'group');
      element.setAttribute('aria-label', `${heading || 'table'}, scrolls sideways`);
    } else if (element.tabIndex === 0 && element !== document.activeElement) {
      element.removeAttribute('tabindex');
    }
  });
}
reach(document);
addEventListener('resize', () => reach(document));
document.addEventListener('toggle', (event) => reach(event.target), true);

// Commands are copied where the browser lets a page do so: over TLS, or on this machine.
function dress(part) {
  if (!navigator.clipboard) return;
  part.querySelectorAll('button.copy').forEach((button) => { button.hidden = false; });
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('button.copy');
  if (!button) return;
  navigator.clipboard.writeText(button.previousElementSibling.textContent).then(
    () => { button.textContent = 'copied'; },
    () => { button.textContent = 'select it by hand'; },
  ).finally(() => { setTimeout(() => { button.textContent = 'copy'; }, 1500); });
});
dress(document);

function say(text, bad) {
  if (!status) return;
  status.textContent = text;
  status.classList.toggle('bad', Boolean(bad));
}

function alive() {
  heard = Date.now();
  say('live');
}

const grid = document.querySelector('[data-roll]');
const pairs = document.querySelector('[data-topology]');
const about = grid ? '?roll' : pairs ? `?pairs&group=${encodeURIComponent(pairs.dataset.group)}` : '';
const stream = new EventSource(`/live${about}`);
stream.addEventListener('state', (event) => {
  const state = JSON.parse(event.data);
  if (grid && grid.dataset.roll !== state.roll) { location.reload(); return; } // another roll: other racks, other tables
  if (pairs && state.pairs && pairs.dataset.topology !== state.pairs) { location.reload(); return; } // other pairs: other blocks
  for (const [name, html] of Object.entries(state.parts)) replace(name, html);
  if (spoken && spoken.textContent !== state.spoken) spoken.textContent = state.spoken;
  alive();
});
stream.addEventListener('beat', alive);
stream.addEventListener('error', () => {
  const since = heard ? ` since ${new Date(heard).toISOString().slice(11, 19)} UTC` : '';
  if (stream.readyState === EventSource.CLOSED) say(`not live${since}: signed out; stowage serve was started again, or your token was removed: load this page again`, true);
  else say(`not live${since}: stowage serve does not answer`, true);
});
setInterval(() => {
  if (heard && Date.now() - heard > 10000) say(`not live since ${new Date(heard).toISOString().slice(11, 19)} UTC: nothing was heard`, true);
}, 2000);
addEventListener('pagehide', () => stream.close());
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
