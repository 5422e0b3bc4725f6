(function () {
  'use strict';
  var data = JSON.parse(document.getElementById('charts').textContent);
  var text = getComputedStyle(document.body).fontFamily;
  var charts = [];

  // One theme: the colours are the page's own, so that dark and print need nothing more.
  var ink = 'var(--ink)', soft = 'var(--soft)', rule = 'var(--rule)', accent = 'var(--accent)', before = 'var(--before-soft)';
  function axis(more) {
    return Object.assign({
      axisLine: { lineStyle: { color: soft } }, axisTick: { lineStyle: { color: soft } },
      axisLabel: { color: soft, fontFamily: text, fontSize: 11 }, splitLine: { lineStyle: { color: rule } },
      nameTextStyle: { color: soft, fontFamily: text, fontSize: 11 }
    }, more);
  }
  function base(more) {
    return Object.assign({
      animation: false, textStyle: { fontFamily: text, color: ink },
      grid: { left: 46, right: 46, top: 26, bottom: 38, outerBoundsMode: 'none' },
      tooltip: {
        trigger: 'axis', renderMode: 'richText', confine: true, backgroundColor: 'var(--paper)', borderColor: soft, borderWidth: 1, padding: 8,
        textStyle: { color: ink, fontFamily: text, fontSize: 12 }, axisPointer: { type: 'line', lineStyle: { color: soft } }
      }
    }, more);
  }
  function named(side) { return { color: soft, fontFamily: text, fontSize: 11, align: side, padding: side === 'left' ? [0, 0, 0, -40] : [0, -40, 0, 0] }; }
  function labels(format) { return { color: soft, fontFamily: text, fontSize: 11, formatter: format }; }
  function share(v) { return +(100 * v).toFixed(v > 0 && v < 0.1 ? 1 : 0) + ' %'; }
  function open(element, option) {
    element.textContent = '';
    var chart = echarts.init(element, null, { renderer: 'svg' });
    chart.setOption(option);
    charts.push(chart);
    return chart;
  }

  function pauses(c, room) {
    var total = c.bins.reduce(function (a, b) { return a + b; }, 0);
    var upTo = 0, bins = c.bins.map(function (n, i) {
      upTo += n;
      return { from: i * c.width, to: (i + 1) * c.width, n: n, share: n / total, upTo: upTo / total };
    });
    var steps = c.ecdf.concat([[c.max, 1]]);
    return base({
      tooltip: Object.assign(base().tooltip, {
        formatter: function (at) {
          var b = bins[Math.min(bins.length - 1, Math.max(0, Math.floor(at[0].axisValue / c.width)))];
          return +b.from.toFixed(3) + ' to ' + +b.to.toFixed(3) + ' ms: ' + b.n + ' of ' + total + ' (' + share(b.share) + ')\nup to here: ' + share(b.upTo);
        }
      }),
      xAxis: axis({ type: 'value', min: 0, max: c.max, interval: c.tick, containShape: false, name: 'ms', nameLocation: 'middle', nameGap: 24, splitLine: { show: false } }),
      yAxis: [
        axis({ type: 'value', name: 'share of pauses', nameTextStyle: named('left'), axisLabel: labels(share) }),
        axis({ type: 'value', min: 0, max: 1, name: 'up to', nameTextStyle: named('right'), axisLabel: labels(share), splitLine: { show: false } })
      ],
      series: [
        { type: 'bar', data: bins.map(function (b) { return [b.from + c.width / 2, b.share]; }), barWidth: Math.max(1, 0.86 * (room - 92) / bins.length), itemStyle: { color: before }, emphasis: { disabled: true } },
        {
          type: 'line', yAxisIndex: 1, data: steps, step: 'end', symbol: 'none', lineStyle: { color: accent, width: 2 }, emphasis: { disabled: true },
          markLine: {
            silent: true, symbol: 'none', lineStyle: { color: soft, type: [3, 3], width: 1 },
            label: { color: soft, fontFamily: text, fontSize: 11, formatter: '{b}', distance: 3 },
            data: c.marks.map(function (m) { return { name: m.name, xAxis: m.at }; })
          }
        }
      ]
    });
  }

  function classes(c) {
    return base({
      grid: { left: 46, right: 12, top: 26, bottom: 40, outerBoundsMode: 'none' },
      tooltip: Object.assign(base().tooltip, {
        formatter: function (at) {
          var i = at[0].dataIndex;
          return 'from ' + c.edges[i] + (c.edges[i + 1] ? ' to ' + c.edges[i + 1] : ' on') + '\nbefore ' + share(c.before[i]) + '\nafter ' + share(c.after[i]);
        }
      }),
      xAxis: axis({ type: 'category', data: c.edges, name: 'query time from', nameLocation: 'middle', nameGap: 26, splitLine: { show: false } }),
      yAxis: axis({ type: 'value', name: 'share of calls', nameTextStyle: named('left'), axisLabel: labels(share) }),
      series: [
        { name: 'before', type: 'bar', data: c.before, itemStyle: { color: before }, emphasis: { disabled: true }, barGap: '8%', barCategoryGap: '22%' },
        { name: 'after', type: 'bar', data: c.after, itemStyle: { color: accent }, emphasis: { disabled: true } }
      ]
    });
  }

  document.querySelectorAll('[data-chart="pauses"]').forEach(function (element) {
    var c = data.pauses[element.dataset.key];
    if (!c) return;
    var chart = open(element, pauses(c, element.clientWidth));
    chart.refit = function () { chart.setOption(pauses(c, element.clientWidth)); };
  });

  var choice = document.getElementById('class-choice');
  if (choice && data.classes.length) {
    document.getElementById('class-figure').hidden = false;
    data.classes.forEach(function (c, i) { choice.add(new Option(c.name.length > 90 ? c.name.slice(0, 89) + '\u2026' : c.name, i)); });
    var chart = open(document.querySelector('[data-chart="class"]'), classes(data.classes[0]));
    var show = function () {
      var c = data.classes[+choice.value];
      document.getElementById('class-words').textContent = c.words;
      chart.setOption(classes(c), true);
    };
    choice.addEventListener('change', show);
    show();
  }

  // The packing is one stop of the tab key for each picture; arrow keys walk inside.
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
      ['focus', 'mouseenter'].forEach(function (kind) { slab.addEventListener(kind, function () { hint.textContent = slab.getAttribute('aria-label'); }); });
      ['blur', 'mouseleave'].forEach(function (kind) { slab.addEventListener(kind, function () { hint.textContent = rest; }); });
    });
  });

  function fit() { charts.forEach(function (c) { c.resize(); if (c.refit) c.refit(); }); }
  var opened = [];
  addEventListener('resize', fit);
  addEventListener('beforeprint', function () {
    opened = Array.from(document.querySelectorAll('details.print:not([open])'));
    opened.forEach(function (d) { d.open = true; });
    fit();
  });
  addEventListener('afterprint', function () {
    opened.forEach(function (d) { d.open = false; });
    fit();
  });
})();
