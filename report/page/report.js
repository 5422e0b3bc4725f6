(function () {
  'use strict';
  // The page is written with the first class of queries; the figures of all of them stand beside it.
  var held = document.getElementById('charts'), choice = document.getElementById('class-choice');
  if (held && choice) {
    var classes = JSON.parse(held.textContent).classes, picture = document.getElementById('class-picture');
    var bars = picture.querySelectorAll('.bar'), columns = picture.querySelectorAll('.column'), levels = picture.querySelectorAll('.grid + .level');
    var rows = document.getElementById('class-table').tBodies[0].rows;
    var top = +columns[0].getAttribute('y'), tall = +columns[0].getAttribute('height');
    var draw = function (bar, share) {
      var high = Math.round(10 * tall * share) / 10;
      bar.setAttribute('y', Math.round(10 * (top + tall - high)) / 10);
      bar.setAttribute('height', high);
    };
    classes.forEach(function (c, i) { choice.add(new Option(c.name, i)); });
    choice.hidden = false;
    document.getElementById('class-name').hidden = true;
    choice.addEventListener('change', function () {
      var c = classes[+choice.value];
      document.getElementById('class-name').textContent = c.name;
      document.getElementById('class-words').textContent = c.words;
      levels.forEach(function (level, i) { level.textContent = c.levels[i]; });
      c.before.forEach(function (before, i) {
        var cells = rows[i].cells;
        draw(bars[2 * i], before / c.top);
        draw(bars[2 * i + 1], c.after[i] / c.top);
        cells[2].textContent = c.before_texts[i];
        cells[3].textContent = c.after_texts[i];
        columns[i].firstElementChild.textContent = cells[0].textContent + ' to ' + cells[1].textContent + ': before ' + c.before_texts[i] + ', after ' + c.after_texts[i];
      });
    });
  }

  // The packing is one stop of the tab key for each picture; arrow keys walk inside.
  function light(slab, on) { document.querySelectorAll('.packing .' + slab.classList[1]).forEach(function (x) { x.classList.toggle('lit', on); }); }
  var hint = document.getElementById('packing-hint'), rest = hint && hint.textContent;
  document.querySelectorAll('.packing svg').forEach(function (picture) {
    var slabs = Array.from(picture.querySelectorAll('.slab'));
    slabs.forEach(function (slab, at) {
      slab.addEventListener('keydown', function (event) {
        var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -at, End: slabs.length - 1 - at }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        var next = slabs[Math.min(slabs.length - 1, Math.max(0, at + step))];
        slab.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      });
      ['focus', 'mouseenter'].forEach(function (kind) { slab.addEventListener(kind, function () { hint.textContent = slab.getAttribute('aria-label'); light(slab, true); }); });
      ['blur', 'mouseleave'].forEach(function (kind) { slab.addEventListener(kind, function () { hint.textContent = rest; light(slab, false); }); });
    });
  });

  var opened = [];
  addEventListener('beforeprint', function () {
    opened = Array.from(document.querySelectorAll('details.print:not([open])'));
    opened.forEach(function (d) { d.open = true; });
  });
  addEventListener('afterprint', function () { opened.forEach(function (d) { d.open = false; }); });
})();
