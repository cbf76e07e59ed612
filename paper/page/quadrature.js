// One frequency's neurons as a quadrature rule: phases phi, output phases psi and widths, in rad. Computed in the page
// as allmlp.studies.quadrature computes them (errors, bounds, hand_coded); a test compares both.

const TURN = 2 * Math.PI;
const wrapped = (angle, period = TURN) => angle + period / 2 - period * Math.floor((angle + period / 2) / period) - period / 2;
const PASSED = { abs: Math.abs, relu: (value) => Math.max(value, 0) };

// sum_i w_i g(cos(theta + phi_i)) exp(i psi_i) at each theta: [real, imaginary].
function summed(part, thetas, { phi, psi, width }) {
  return thetas.map((theta) => phi.reduce(([real, imaginary], of, i) => {
    const passed = width[i] * PASSED[part](Math.cos(theta + of));
    return [real + passed * Math.cos(psi[i]), imaginary + passed * Math.sin(psi[i])];
  }, [0, 0]));
}

const anglesOf = (p) => Array.from({ length: 2 * p }, (_, j) => (Math.PI * j) / p);

// Largest distance of the absolute part's sum from (4/3) exp(-2 i theta).
function largestError(p, rule) {
  const thetas = anglesOf(p);
  return Math.max(...summed("abs", thetas, rule).map(([real, imaginary], j) =>
    Math.hypot(real - (4 / 3) * Math.cos(2 * thetas[j]), imaginary + (4 / 3) * Math.sin(2 * thetas[j]))));
}

// Boxes end to end over one period, in the order of their phases, shifted to where they miss least.
function lay(phi, width, period = TURN) {
  const order = phi.map((of, i) => [wrapped(of, period), i]).sort(([a], [b]) => a - b);
  const phases = order.map(([of]) => of), edges = [-period / 2];
  for (const [, i] of order) edges.push(edges.at(-1) + width[i]);
  const left = phases.map((of, i) => edges[i] - of), right = phases.map((of, i) => edges[i + 1] - of);
  const shift = bestShift(left, right);
  const area = (x) => ((x + shift) * Math.abs(x + shift)) / 2;
  return { edges: edges.map((edge) => edge + shift), neurons: order.map(([, i]) => i), distance: left.reduce((sum, low, i) => sum + area(right[i]) - area(low), 0) };
}

function bestShift(left, right) {
  let high = Math.max(...left.map(Math.abs), ...right.map(Math.abs)), low = -high;
  for (let halving = 0; halving < 64; halving++) {
    const middle = (low + high) / 2;
    const slope = left.reduce((sum, of, i) => sum + Math.abs(right[i] + middle) - Math.abs(of + middle), 0);
    if (slope > 0) high = middle; else low = middle;
  }
  return (low + high) / 2;
}

function boundsOf({ phi, psi, width }) {
  const box = 2 * lay(phi, width).distance, folded = 4 * lay(phi, width.map((of) => of / 2), Math.PI).distance;
  const angle = phi.reduce((sum, of, i) => sum + width[i] * Math.abs(wrapped(psi[i] - 2 * of)), 0);
  return { box, folded, angle, total: Math.min(box, folded) + angle };
}

// Over all p^2 pairs: the share of right sums, the smallest margin, and the largest error of the sum's phase.
function addition(p, rule) {
  const count = new Array(2 * p).fill(0), least = new Array(2 * p).fill(Infinity), most = new Array(2 * p).fill(0);
  for (let x = 0; x < p; x++) for (let y = 0; y < p; y++) {
    const D = 2 * Math.cos((Math.PI * (x - y)) / p), j = (x + y + (D < 0 ? p : 0)) % (2 * p);
    count[j]++;
    least[j] = Math.min(least[j], Math.abs(D));
    most[j] = Math.max(most[j], Math.abs(D));
  }
  const thetas = anglesOf(p);
  let right = 0, margin = Infinity, phase = 0;
  summed("relu", thetas, rule).forEach(([real, imaginary], j) => {
    let other = -Infinity, own = 0;
    for (let z = 0; z < p; z++) {
      const logit = real * Math.cos((TURN * z) / p) - imaginary * Math.sin((TURN * z) / p);
      if (z === j % p) own = logit; else other = Math.max(other, logit);
    }
    if (own > other) right += count[j];
    margin = Math.min(margin, (own - other) * (own > other ? least[j] : most[j]));
    phase = Math.max(phase, Math.abs(wrapped(Math.atan2(imaginary, real) + 2 * thetas[j])));
  });
  return { accuracy: right / p ** 2, margin, phase };
}

const ANGLES_MOST = 15, PRIMES = [5, 7, 11, 13, 17, 23, 31, 41, 59, 83, 113, 151, 199];
const HAND_CODED = "hand-coded";

function quadrature(box, trained) {
  const controls = made("form", {}), both = made("div", { class: "beside" }), dial = made("div", { class: "dial" }), right = made("div", {});
  const picture = made("div", { class: "plot" }), table = made("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "numbers of this network" });
  const [networkLabel, network] = choice("network", [HAND_CODED, ...trained.map((one) => one.name)], load);
  const [primeLabel, prime] = choice("numbers modulo p =", PRIMES, update);
  const [manyLabel, many] = slider("angles", 3, ANGLES_MOST, 1, 5, load);
  const [neuronLabel, neuron] = choice("neuron", [], read);
  const [angleLabel, angle] = slider("its angle (degrees)", -180, 180, 0.5, 0, move);
  const [widthLabel, width] = slider("its width (share of an equal one)", 0.05, 3, 0.05, 1, move);
  const again = made("button", { type: "button" }, "equal again"), controlsOfOne = [neuron, angle, width, many, again];
  again.addEventListener("click", load);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.append(networkLabel, primeLabel, manyLabel, neuronLabel, angleLabel, widthLabel, again);
  right.append(picture, table);
  both.append(dial, right);
  box.append(controls, both);
  prime.value = 59;
  let phi = [], psi = null, shares = [], draw = null, handles = [], ring = null;

  const rule = () => {
    const whole = shares.reduce((sum, of) => sum + of, 0);
    return { phi, psi: psi || phi.map((of) => 2 * of), width: shares.map((of) => (TURN * of) / whole) };
  };
  const degrees = (of) => (wrapped(of) * 180) / Math.PI;

  function load() {
    const loaded = trained.find((one) => one.name === network.value), n = Number(many.value);
    phi = loaded ? [...loaded.phi] : Array.from({ length: n }, (_, i) => (TURN * i) / n);
    psi = loaded ? loaded.psi : null;
    shares = loaded ? loaded.width : new Array(n).fill(1);
    if (loaded) prime.value = loaded.p;
    for (const one of controlsOfOne) one.disabled = !!loaded;
    neuron.replaceChildren(...(loaded ? [] : phi.map((_, i) => new Option(i + 1, i))));
    turnable(!loaded);
    if (!loaded) read();
    update();
  }

  // The sliders show the chosen neuron.
  function read() {
    angle.value = degrees(phi[neuron.value]);
    width.value = shares[neuron.value];
    handles.forEach((one, i) => one.classList.toggle("chosen", i === Number(neuron.value)));
  }

  function move() {
    phi[neuron.value] = (Number(angle.value) * Math.PI) / 180;
    shares[neuron.value] = Number(width.value);
    update();
  }

  // The dial: a dot for each phase; around it the boxes, laid end to end. Dots of a hand-coded network can be moved.
  function turnable(free) {
    const svg = element("svg", { viewBox: "-130 -130 260 260", role: "group", "aria-label": "phases of the neurons on a circle, with their boxes around them" });
    element("circle", { r: 84, class: "grid" }, svg);
    ring = element("g", {}, svg);
    handles = phi.map((_, i) => {
      const dot = element("circle", { r: free ? 9 : 2.5, class: "handle" }, svg);
      if (!free) return dot;
      for (const [key, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": `angle of neuron ${i + 1}`, "aria-valuemin": -180, "aria-valuemax": 180 })) dot.setAttribute(key, value);
      dot.addEventListener("focus", () => { neuron.value = i; read(); });
      dot.addEventListener("keydown", (event) => {
        const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05] }[event.key];
        if (!by) return;
        event.preventDefault();
        turn(i, phi[i] + (by[0] * Math.PI) / 180, Math.min(3, Math.max(0.05, shares[i] + by[1])));
      });
      dot.addEventListener("pointerdown", (event) => { dot.setPointerCapture(event.pointerId); dot.focus(); });
      dot.addEventListener("pointermove", (event) => {
        if (!dot.hasPointerCapture(event.pointerId)) return;
        const { left, top, width: across, height } = svg.getBoundingClientRect();
        turn(i, Math.atan2(-(event.clientY - top - height / 2), event.clientX - left - across / 2), shares[i]);
      });
      return dot;
    });
    dial.replaceChildren(svg, made("p", { class: "note" }, free ? "Drag a dot, or focus it: left and right turn it, up and down change its width." : "A dot is a neuron. Its box lies around it."));
  }

  function turn(i, to, share) {
    phi[i] = wrapped(to);
    shares[i] = share;
    neuron.value = i;
    read();
    update();
  }

  function update() {
    place();
    if (draw) draw(); else draw = plot(picture, 300, paint);
    list();
  }

  function place() {
    const now = rule(), { edges, neurons } = lay(now.phi, now.width), gap = phi.length > 20 ? 0 : 0.02;
    const at = (of, radius) => [radius * Math.cos(of), -radius * Math.sin(of)];
    phi.forEach((of, i) => {
      const [x, y] = at(of, 84), said = `${degrees(of).toFixed(1)} degrees, width ${((now.width[i] * 180) / Math.PI).toFixed(1)} degrees`;
      handles[i].setAttribute("cx", x.toFixed(2));
      handles[i].setAttribute("cy", y.toFixed(2));
      if (handles[i].hasAttribute("role")) { handles[i].setAttribute("aria-valuenow", degrees(of).toFixed(1)); handles[i].setAttribute("aria-valuetext", said); }
    });
    ring.replaceChildren(...neurons.map((i, number) => {
      const [from, to] = [edges[number] + gap, edges[number + 1] - gap], [x1, y1] = at(from, 108), [x2, y2] = at(to, 108);
      return element("path", { d: `M${x1} ${y1}A108 108 0 ${to - from > Math.PI ? 1 : 0} 0 ${x2} ${y2}`, class: number % 2 ? "box odd" : "box" });
    }));
  }

  function paint(svg, across, height) {
    const now = rule(), p = Number(prime.value), frame = { left: 44, right: across - 12, top: 40, bottom: height - 44 };
    const fine = Array.from({ length: 361 }, (_, n) => (n * TURN) / 360), met = anglesOf(p);
    const curve = summed("relu", fine, now), dots = summed("relu", met, now);
    const largest = Math.max(0.75, ...curve.flat().map(Math.abs)) * 1.05;
    const x = scale(0, 360, frame.left, frame.right), y = scale(-largest, largest, frame.bottom, frame.top);
    x.ticks = () => [0, 90, 180, 270, 360];
    axes(svg, frame, x, y, { x: "angle kt/2 (degrees), t = x + y", y: "sums G and H; thin: their integrals" });
    const integral = { 0: (of) => (2 / 3) * Math.cos(2 * of), 1: (of) => (-2 / 3) * Math.sin(2 * of) };
    for (const part of [0, 1]) {
      const name = "GH"[part], degree = (of) => (of * 180) / Math.PI;
      element("path", { d: path(fine.map((of) => [x(degree(of)), y(integral[part](of))])), class: "integral" }, svg);
      element("path", { d: path(fine.map((of, n) => [x(degree(of)), y(curve[n][part])])), class: `sum of-${name}` }, svg);
      met.forEach((of, n) => element("circle", { cx: x(degree(of)), cy: y(dots[n][part]), r: p > 80 ? 1.2 : 2, class: `of-${name}` }, svg));
      element("text", { x: frame.left + 8 + 34 * part, y: frame.top - 10 + 22, class: `of-${name}` }, svg, name);
    }
    svg.setAttribute("aria-label", `G and H of ${phi.length} neurons against the angle, beside the integrals that they approximate`);
  }

  function list() {
    const p = Number(prime.value), now = rule(), found = addition(p, now), bound = boundsOf(now), error = largestError(p, now);
    table.replaceChildren(tableOf(["number", "here", "what it is"], [
      ["accuracy", `${(100 * found.accuracy).toFixed(1)} %`, `of all ${short(p * p)} sums, with this frequency alone`],
      ["smallest margin", short(found.margin), "right logit minus the largest other one"],
      ["phase error", `${short(found.phase)} rad`, `every sum is right where it is below π/p = ${short(Math.PI / p)}`],
      ["quadrature error", short(error), "largest distance of Σ w |cos| exp(iψ) from its integral"],
      ["bound", short(bound.total), `never below the error: ${short(Math.min(bound.box, bound.folded))} from boxes (whole ${short(bound.box)}, folded ${short(bound.folded)}), ${short(bound.angle)} from ψ − 2φ`],
    ]));
  }

  load();
}
