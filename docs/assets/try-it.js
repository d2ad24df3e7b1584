// The interactive picture of the first page. Data: the JSON beside this script (python -m benchmarks try-it).
(() => {
  const box = document.getElementById("try-it");
  const data = JSON.parse(box.querySelector('script[type="application/json"]').textContent);
  const percent = (share) => (100 * share).toFixed(1).replace(".0", "") + " %";
  const make = (tag, cls, text) => {
    const one = document.createElement(tag);
    if (cls) one.className = cls;
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const slider = (name, values, start, said) => {
    const label = make("label", "slider"), head = make("span", "", name + ": "), value = make("output"), input = make("input");
    Object.assign(input, { type: "range", min: 0, max: values.length - 1, step: 1, value: values.indexOf(start) });
    input.setAttribute("aria-label", name);
    input.addEventListener("input", draw);
    head.append(value);
    label.append(head, input);
    controls.append(label);
    return () => { const now = values[+input.value]; value.textContent = said(now); input.setAttribute("aria-valuetext", said(now)); return now; };
  };
  const what = { PS: "ignores the change", LWCP: "conformal, class by class", "PS-LP": "the default of pacshift" };
  const controls = make("div", "controls"), bars = make("div", "bars"), cases = make("div", "cases");
  bars.setAttribute("aria-live", "polite");
  const share = slider("heart disease in the target", data.shares, 0.3, percent);
  const epsilon = slider("may be missed (ε)", data.epsilons, 0.1, percent);
  function draw() {
    const t = share(), e = epsilon(), found = data.results[t + " " + e], most = Math.max(0.25, ...data.methods.map((m) => found[m].error)) * 1.05;
    bars.replaceChildren(...data.methods.map((method) => {
      const one = found[method], row = make("div", "row" + (one.error > e ? " above" : "")), track = make("div", "track");
      const bar = make("div", "bar"), limit = make("div", "limit");
      bar.style.width = (100 * one.error) / most + "%";
      limit.style.left = (100 * e) / most + "%";
      track.append(bar, limit);
      const name = make("div", "name");
      name.append(make("b", "", method), make("small", "", " " + what[method]));
      row.append(name, track, make("div", "number", "misses " + percent(one.error) + ", " + one.size.toFixed(2) + " labels per set"));
      return row;
    }));
    cases.replaceChildren(...data.people.map((person) => {
      const card = make("div", "case");
      card.append(make("div", "told", person.told));
      for (const method of ["PS", "PS-LP"]) {
        const cuts = found[method].thresholds, line = make("div", "set"), held = person.scores.map((score, place) => score >= cuts[place]);
        line.append(make("span", "by", method));
        data.classes.forEach((name, place) => { if (held[place]) line.append(make("span", "label", name)); });
        if (!held.includes(true)) line.append(make("span", "label none", "no label"));
        if (!held[person.label]) { line.classList.add("missed"); line.append(make("span", "wrong", "missed")); }
        card.append(line);
      }
      card.append(make("div", "truth", "in truth: " + data.classes[person.label]));
      return card;
    }));
  }
  draw();
  box.replaceChildren(controls, bars, cases);
})();
