// Keeps open pages up to date: what the stream says of a part takes its place, unless it is the same. Focus and what was opened stay.
const status = document.querySelector('[data-link]');
const spoken = document.querySelector('[data-spoken]');
const shown = new Map();
let heard = 0;

function key(element) { return element.id || element.dataset.key || element.getAttribute('href'); }

function find(part, wanted) {
  return Array.from(part.querySelectorAll('a, button, summary, [tabindex], [data-key]')).find((e) => key(e) === wanted);
}

function replace(name, html) {
  if (shown.get(name) === html) return;
  shown.set(name, html);
  for (const part of document.querySelectorAll(`[data-part="${name}"]`)) {
    const focused = part.contains(document.activeElement) ? key(document.activeElement) : null;
    const opened = Array.from(part.querySelectorAll('details[open][data-key]')).map(key);
    const left = Array.from(part.querySelectorAll('.scroll')).map((e) => e.scrollLeft);
    part.innerHTML = html;
    part.querySelectorAll('details[data-key]').forEach((e) => { if (opened.includes(key(e))) e.open = true; });
    part.querySelectorAll('.scroll').forEach((e, i) => { e.scrollLeft = left[i] || 0; });
    if (focused) find(part, focused)?.focus({ preventScroll: true });
    dress(part);
  }
}

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
const stream = new EventSource(grid ? '/live?roll' : '/live');
stream.addEventListener('state', (event) => {
  const state = JSON.parse(event.data);
  if (grid && grid.dataset.roll !== state.roll) { location.reload(); return; } // another roll: other racks, other tables
  for (const [name, html] of Object.entries(state.parts)) replace(name, html);
  if (spoken && spoken.textContent !== state.spoken) spoken.textContent = state.spoken;
  alive();
});
stream.addEventListener('beat', alive);
stream.addEventListener('error', () => {
  const since = heard ? ` since ${new Date(heard).toISOString().slice(11, 19)} UTC` : '';
  if (stream.readyState === EventSource.CLOSED) say(`not live${since}: stowage serve was started again; open the link that it has printed`, true);
  else say(`not live${since}: stowage serve does not answer`, true);
});
setInterval(() => {
  if (heard && Date.now() - heard > 10000) say(`not live since ${new Date(heard).toISOString().slice(11, 19)} UTC: nothing was heard`, true);
}, 2000);
addEventListener('pagehide', () => stream.close());
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
