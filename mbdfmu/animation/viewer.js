// Draws the scene of the page and moves it; must not know bodies, joints or how the motion was computed.
// Poses are seven numbers: x y z and the quaternion e0..e3 that turns the axes of the part into those of the ground.
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const scene = JSON.parse(at("scene").textContent);
  const buffer = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const times = new Float64Array(buffer(scene.times));
  const poses = new Float32Array(buffer(scene.poses)); // frame by frame, a pose for each moving node
  const first = times[0], last = times[times.length - 1];
  const canvas = at("view");
  const quiet = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const state = {
    time: first, playing: last > first && !quiet, speed: 1, repeat: true, grid: true, axes: false,
    lit: -1, hidden: new Set(), fitted: true, dirty: true,
  };

  // ---------------------------------------------------------------- vectors

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const add = (a, b, s) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => add([0, 0, 0], a, 1 / (Math.hypot(...a) || 1));
  const basis = (k) => [0, 1, 2].map((i) => (i === k ? 1 : 0));
  const color = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);

  /** The columns of the rotation matrix, then the origin: twelve numbers. */
  function matrix([x, y, z, e0, e1, e2, e3]) {
    return [
      1 - 2 * (e2 * e2 + e3 * e3), 2 * (e1 * e2 + e0 * e3), 2 * (e1 * e3 - e0 * e2),
      2 * (e1 * e2 - e0 * e3), 1 - 2 * (e1 * e1 + e3 * e3), 2 * (e2 * e3 + e0 * e1),
      2 * (e1 * e3 + e0 * e2), 2 * (e2 * e3 - e0 * e1), 1 - 2 * (e1 * e1 + e2 * e2),
      x, y, z,
    ];
  }

  const turned = (m, v) => [0, 1, 2].map((i) => m[i] * v[0] + m[3 + i] * v[1] + m[6 + i] * v[2]);
  const moved = (m, p) => add(turned(m, p), m.slice(9), 1);

  // ---------------------------------------------------------------- motion

  /** The last frame that is not after the present time. */
  function frame() {
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= state.time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Where every node is now; between frames positions are linear, rotations nearly so. */
  function places() {
    const k = frame(), next = Math.min(k + 1, times.length - 1);
    const part = next > k ? (state.time - times[k]) / (times[next] - times[k]) : 0;
    const count = poses.length / times.length;
    let row = 0;
    return scene.nodes.map((node) => {
      if (!node.moving) return matrix([0, 0, 0, 1, 0, 0, 0]);
      const pose = [];
      for (let n = 0; n < 7; n++, row++) {
        const a = poses[k * count + row], b = poses[next * count + row];
        pose.push(a + part * (b - a));
      }
      const length = Math.hypot(pose[3], pose[4], pose[5], pose[6]) || 1;
      for (let n = 3; n < 7; n++) pose[n] /= length;
      return matrix(pose);
    });
  }

  // ---------------------------------------------------------------- camera

  const up = scene.up, h1 = (up + 1) % 3, h2 = (up + 2) % 3; // axes: up, and two that follow it
  const HALF_VIEW = Math.tan(0.5 * 32 * Math.PI / 180);
  const start = scene.planar ? [0, 0] : up === 1 ? [0.45, 0.35] : [-1.05, 0.35];
  const camera = { azimuth: start[0], elevation: start[1], distance: 1, target: [0, 0, 0] };
  const size = Math.max(Math.hypot(...add(scene.high, scene.low, -1)), 1e-9);
  const floor = scene.floor;

  /** Unit vectors of the screen: right, up and towards the eye. */
  function screen() {
    const c = Math.cos(camera.elevation), back = [0, 0, 0], right = [0, 0, 0];
    back[h1] = c * Math.cos(camera.azimuth);
    back[h2] = c * Math.sin(camera.azimuth);
    back[up] = Math.sin(camera.elevation);
    right[h1] = -Math.sin(camera.azimuth);
    right[h2] = Math.cos(camera.azimuth);
    return [right, cross(back, right), back];
  }

  /** Look at the whole motion from the present direction. */
  function fit() {
    const [right, above, back] = screen(), aspect = canvas.clientWidth / Math.max(canvas.clientHeight, 1);
    camera.target = add(scene.low, add(scene.high, scene.low, -1), 0.5);
    camera.distance = 1e-9;
    for (let k = 0; k < 8; k++) {
      const corner = [0, 1, 2].map((i) => (k >> i & 1 ? scene.high : scene.low)[i] - camera.target[i]);
      const across = Math.max(Math.abs(dot(corner, right)) / aspect, Math.abs(dot(corner, above)));
      camera.distance = Math.max(camera.distance, dot(corner, back) + 1.12 * across / HALF_VIEW);
    }
    state.fitted = state.dirty = true;
  }

  function reset() {
    [camera.azimuth, camera.elevation] = start;
    fit();
  }

  const eye = () => add(camera.target, screen()[2], camera.distance);

  /** View and perspective, column by column. */
  function projection() {
    const axes = screen(), from = eye(), aspect = canvas.width / canvas.height;
    const near = 0.02 * camera.distance, far = camera.distance + 20 * size;
    const m = new Float32Array(16);
    for (let i = 0; i < 4; i++) {
      const [x, y, z] = axes.map((axis) => (i < 3 ? axis[i] : -dot(axis, from)));
      m[4 * i] = x / (HALF_VIEW * aspect);
      m[4 * i + 1] = y / HALF_VIEW;
      m[4 * i + 2] = (z * (far + near) + (i === 3 ? 2 * far * near : 0)) / (near - far);
      m[4 * i + 3] = -z;
    }
    return m;
  }

  function turn(dx, dy) {
    camera.azimuth -= 0.008 * dx;
    camera.elevation = Math.max(-1.57, Math.min(1.57, camera.elevation + 0.008 * dy));
    touched();
  }

  function pan(dx, dy) {
    const [right, above] = screen(), scale = 2 * camera.distance * HALF_VIEW / canvas.clientHeight;
    camera.target = add(add(camera.target, right, -dx * scale), above, dy * scale);
    touched();
  }

  function zoom(factor) {
    camera.distance = Math.max(1e-3 * size, Math.min(20 * size, camera.distance * factor));
    touched();
  }

  function touched() {
    state.fitted = false;
    state.dirty = true;
  }

  // ---------------------------------------------------------------- what is drawn

  const FLOATS = 16; // of an instance: three columns and the origin, colour, glow
  const HALF = { box: [0.5, 0.5, 0.5], cylinder: [1, 1, 0.5], sphere: [1, 1, 1] }; // half sizes of the unit meshes
  const AXES = ["#d43d3d", "#2f9e44", "#2f6fdb"].map(color);
  const lists = {}; // of each mesh: the numbers of its instances, and which node each of them belongs to
  for (const mesh of Object.keys(scene.meshes)) lists[mesh] = { data: new Float32Array(FLOATS * 64), nodes: [] };
  for (const node of scene.nodes) for (const part of node.parts) part.rgb = color(part.color);
  for (const link of scene.links) link.rgb = color(link.color);

  function put(mesh, node, columns, origin, rgb) {
    const list = lists[mesh], offset = list.nodes.length * FLOATS;
    if (offset === list.data.length) {
      const larger = new Float32Array(2 * list.data.length);
      larger.set(list.data);
      list.data = larger;
    }
    for (let k = 0; k < 3; k++) list.data.set(columns[k], offset + 3 * k);
    list.data.set(origin, offset + 9);
    list.data.set(rgb, offset + 12);
    list.data[offset + 15] = node === state.lit ? 1 : 0;
    list.nodes.push(node);
  }

  /** A cylinder from one point to another. */
  function putLine(node, from, to, radius, rgb) {
    const along = add(to, from, -1), length = Math.hypot(...along);
    if (length < 1e-9 * size) return;
    const side = unit(cross(along, basis(Math.abs(along[0]) < 0.6 * length ? 0 : 1)));
    const other = unit(cross(along, side));
    const scaled = (v) => add([0, 0, 0], v, radius);
    put("cylinder", node, [scaled(side), scaled(other), along], add(from, along, 0.5), rgb);
  }

  function putAxes(node, m, length) {
    const origin = m.slice(9);
    AXES.forEach((rgb, k) => putLine(node, origin, add(origin, m.slice(3 * k, 3 * k + 3), length), 0.03 * scene.triad, rgb));
  }

  /** All that is visible now. */
  function collect() {
    const now = places();
    for (const list of Object.values(lists)) list.nodes.length = 0;
    now.forEach((m, n) => {
      if (state.hidden.has(n)) return;
      for (const p of scene.nodes[n].parts) put(p.mesh, n, p.columns.map((c) => turned(m, c)), moved(m, p.at), p.rgb);
      if (state.axes) putAxes(n, m, scene.nodes[n].moving ? scene.triad : 1.6 * scene.triad);
    });
    for (const link of scene.links) {
      if (state.hidden.has(link.nodes[0]) && state.hidden.has(link.nodes[1])) continue;
      const [a, b] = [0, 1].map((k) => moved(now[link.nodes[k]], link.points[k]));
      putLine(-2, a, b, link.radius, link.rgb);
    }
  }

  // ---------------------------------------------------------------- WebGL

  const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, stencil: true });
  if (!gl) {
    at("fault").textContent = "This browser offers no WebGL 2, which the picture needs; "
      + "try another browser or turn on hardware acceleration.";
    at("fault").hidden = false;
    return;
  }

  const SOLID_VERTEX = `#version 300 es
    layout(location=0) in vec3 position; layout(location=1) in vec3 normal;
    layout(location=2) in vec3 c0; layout(location=3) in vec3 c1; layout(location=4) in vec3 c2;
    layout(location=5) in vec3 origin; layout(location=6) in vec4 paint;
    uniform mat4 projection; uniform vec4 plane; uniform vec3 light; uniform bool shadow, round;
    out vec3 n, p; out vec4 tint; out vec2 spot;
    void main() {
      spot = round && dot(c0, c0) > 0.5 * dot(c2, c2) ? position.xy : vec2(1.0); // discs get dark quarters, to see them spin
      p = c0 * position.x + c1 * position.y + c2 * position.z + origin;
      n = c0 * normal.x / dot(c0, c0) + c1 * normal.y / dot(c1, c1) + c2 * normal.z / dot(c2, c2);
      if (shadow) p -= light * (dot(plane.xyz, p) - plane.w) / dot(plane.xyz, light);
      tint = paint;
      gl_Position = projection * vec4(p, 1.0);
    }`;
  const SOLID_FRAGMENT = `#version 300 es
    precision highp float;
    in vec3 n, p; in vec4 tint; in vec2 spot; out vec4 color;
    uniform vec3 eye, light; uniform bool shadow, dark;
    void main() {
      if (shadow) { color = vec4(0.0, 0.0, 0.0, dark ? 0.35 : 0.16); return; }
      vec3 N = normalize(n), V = normalize(eye - p), H = normalize(light + V);
      float quarter = spot.x * spot.y, edge = fwidth(quarter) + 1e-9;
      vec3 base = pow(tint.rgb, vec3(2.2)) * mix(0.72, 1.0, smoothstep(-edge, edge, quarter));
      float key = max(dot(N, light), 0.0), head = max(dot(N, V), 0.0);
      float gloss = 0.18 * pow(max(dot(N, H), 0.0), 40.0), rim = 0.10 * pow(1.0 - head, 3.0);
      vec3 lit = base * (0.24 + 0.62 * key + 0.30 * head) + gloss + rim;
      lit += tint.a * (0.12 + 0.5 * base);
      color = vec4(pow(lit, vec3(1.0 / 2.2)), 1.0);
    }`;
  const GRID_VERTEX = `#version 300 es
    uniform mat4 projection; uniform vec3 centre, a, b; uniform float reach;
    out vec3 p;
    void main() {
      vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
      p = centre + reach * (corner.x * a + corner.y * b);
      gl_Position = projection * vec4(p, 1.0);
    }`;
  // Lines of one pixel at any distance; those through the origin have the colour of their axis.
  const GRID_FRAGMENT = `#version 300 es
    precision highp float;
    in vec3 p; out vec4 color;
    uniform vec3 centre, a, b, ink, inkA, inkB; uniform float reach, cell;
    float line(float x) { return 1.0 - min(abs(fract(x - 0.5) - 0.5) / fwidth(x), 1.0); }
    float origin(float x) { return 1.0 - min(abs(x) / fwidth(x) * 0.7, 1.0); }
    void main() {
      vec2 x = vec2(dot(p, a), dot(p, b)) / cell;
      float fine = max(line(x.x), line(x.y)), coarse = max(line(x.x / 5.0), line(x.y / 5.0));
      float fade = 1.0 - smoothstep(0.25, 1.0, distance(p, centre) / reach);
      float density = 1.0 - smoothstep(0.1, 0.5, max(fwidth(x.x), fwidth(x.y)));
      float alongA = origin(x.y), alongB = origin(x.x);
      float alpha = max(max(0.30 * fine * density, 0.5 * coarse), 0.9 * max(alongA, alongB)) * fade;
      color = vec4(mix(mix(ink, inkA, alongA), inkB, alongB * (1.0 - alongA)), alpha);
    }`;

  function program(vertex, fragment) {
    const made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const uniforms = {};
    for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k++) {
      const { name } = gl.getActiveUniform(made, k);
      uniforms[name] = gl.getUniformLocation(made, name);
    }
    return { made, ...uniforms };
  }

  /** Vertices of a unit mesh and room for its instances. */
  function upload(mesh) {
    const array = gl.createVertexArray(), instances = gl.createBuffer();
    gl.bindVertexArray(array);
    [mesh.positions, mesh.normals].forEach((text, location) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(buffer(text)), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ARRAY_BUFFER, instances);
    for (let k = 0; k < 5; k++) {
      gl.enableVertexAttribArray(2 + k);
      gl.vertexAttribPointer(2 + k, k < 4 ? 3 : 4, gl.FLOAT, false, 4 * FLOATS, 12 * k);
      gl.vertexAttribDivisor(2 + k, 1);
    }
    const indices = new Uint16Array(buffer(mesh.indices));
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    return { array, instances, count: indices.length };
  }

  let solid, grid, meshes;

  /** Everything that lives in the graphics card; made anew when the card has lost it. */
  function prepare() {
    solid = program(SOLID_VERTEX, SOLID_FRAGMENT);
    grid = program(GRID_VERTEX, GRID_FRAGMENT);
    meshes = Object.fromEntries(Object.entries(scene.meshes).map(([name, mesh]) => [name, upload(mesh)]));
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    state.dirty = true;
  }

  const normal = basis(floor.axis);
  const slant = scene.planar ? [-0.25, 0.4] : [0.3, -0.35]; // of the light, across the normal of the floor
  const light = unit([1, 2].reduce((v, k) => add(v, basis((floor.axis + k) % 3), slant[k - 1]), normal));
  const dark = () => document.documentElement.dataset.theme === "dark";

  function draw() {
    collect();
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...color(dark() ? "#14171c" : "#f4f5f7"), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    const view = projection();
    prepareSolids(view);
    // In the plane the grid goes through the middle of the bodies and must lie behind them all the same.
    if (state.grid && scene.planar) drawBackground(view);
    drawSolids();
    if (state.grid && !scene.planar) drawBackground(view);
  }

  function drawBackground(view) {
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    drawGrid(view);
    if (eye()[floor.axis] > floor.level) drawShadows();
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  function prepareSolids(view) {
    gl.useProgram(solid.made);
    gl.uniformMatrix4fv(solid.projection, false, view);
    gl.uniform4f(solid.plane, ...normal, floor.level);
    gl.uniform3f(solid.light, ...light);
    gl.uniform3f(solid.eye, ...eye());
    gl.uniform1i(solid.dark, dark());
    for (const [name, mesh] of Object.entries(meshes)) {
      const list = lists[name];
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.instances);
      gl.bufferData(gl.ARRAY_BUFFER, list.data.subarray(0, list.nodes.length * FLOATS), gl.DYNAMIC_DRAW);
    }
  }

  function drawSolids() {
    gl.useProgram(solid.made);
    gl.uniform1i(solid.shadow, 0);
    drawInstances();
  }

  function drawInstances() {
    for (const [name, mesh] of Object.entries(meshes)) {
      gl.bindVertexArray(mesh.array);
      gl.uniform1i(solid.round, name === "cylinder");
      gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_SHORT, 0, lists[name].nodes.length);
    }
  }

  /** All parts once more, flattened onto the floor; the stencil keeps overlaps from becoming darker. */
  function drawShadows() {
    gl.useProgram(solid.made);
    gl.uniform1i(solid.shadow, 1);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(-1, -1);
    drawInstances();
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.disable(gl.STENCIL_TEST);
  }

  function drawGrid(view) {
    const a = (floor.axis + 1) % 3, b = (floor.axis + 2) % 3;
    const centre = add(scene.low, add(scene.high, scene.low, -1), 0.5);
    centre[floor.axis] = scene.planar ? 0 : floor.level;
    gl.useProgram(grid.made);
    gl.uniformMatrix4fv(grid.projection, false, view);
    gl.uniform3f(grid.centre, ...centre);
    gl.uniform3f(grid.a, ...basis(a));
    gl.uniform3f(grid.b, ...basis(b));
    gl.uniform3f(grid.inkA, ...AXES[a]);
    gl.uniform3f(grid.inkB, ...AXES[b]);
    gl.uniform3f(grid.ink, ...color(dark() ? "#8b96a8" : "#7d8797"));
    gl.uniform1f(grid.reach, 3 * size);
    gl.uniform1f(grid.cell, scene.cell);
    gl.bindVertexArray(null);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  // ---------------------------------------------------------------- what is below the pointer

  /** The node that a ray from the eye meets first, -1 for none. */
  function pick(x, y) {
    const [right, above, back] = screen(), half = canvas.clientHeight / 2;
    const toX = (x - canvas.clientWidth / 2) / half * HALF_VIEW, toY = (half - y) / half * HALF_VIEW;
    const ray = add(add(add([0, 0, 0], right, toX), above, toY), back, -1), from = eye();
    let best = -1, nearest = Infinity;
    for (const [mesh, { data, nodes }] of Object.entries(lists)) {
      nodes.forEach((node, k) => {
        const depth = hit(data.subarray(k * FLOATS, (k + 1) * FLOATS), HALF[mesh], from, ray);
        if (depth < nearest) [nearest, best] = [depth, node];
      });
    }
    return best;
  }

  /** Distance along the ray to the box around an instance. */
  function hit(m, half, from, ray) {
    let enter = -Infinity, leave = Infinity;
    for (let k = 0; k < 3; k++) {
      const column = m.subarray(3 * k, 3 * k + 3), square = dot(column, column);
      const position = dot(add(from, m.subarray(9, 12), -1), column) / square, slope = dot(ray, column) / square;
      const [a, b] = [-half[k], half[k]].map((side) => (side - position) / slope);
      enter = Math.max(enter, Math.min(a, b));
      leave = Math.min(leave, Math.max(a, b));
    }
    return enter <= leave && leave > 0 ? enter : Infinity;
  }

  function highlight(node, x, y) {
    const tip = at("tip");
    tip.hidden = node < 0 || x === undefined;
    if (!tip.hidden) {
      tip.textContent = scene.nodes[node].name;
      tip.style.left = `${x + 14}px`;
      tip.style.top = `${y + 10}px`;
    }
    if (node === state.lit) return;
    state.lit = node;
    state.dirty = true;
    [...at("bodies").children].forEach((item, k) => item.classList.toggle("lit", k === node));
  }

  // ---------------------------------------------------------------- controls

  const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.max(last - first, 1e-6)))));

  function seek(time) {
    state.time = Math.max(first, Math.min(last, time));
    at("scrub").value = state.time;
    at("clock").textContent = `${state.time.toFixed(digits)} / ${last.toFixed(digits)} s`;
    state.dirty = true;
  }

  function play(on) {
    if (on && state.time >= last) seek(first);
    state.playing = on && last > first;
    at("sign").setAttribute("d", state.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M3 1l11 7-11 7z");
  }

  function step(frames) {
    play(false);
    const k = frame();
    const between = state.time > times[k] && frames < 0 ? 1 : 0; // back from between two frames is to the one before
    seek(times[Math.max(0, Math.min(times.length - 1, k + frames + between))]);
  }

  function speed(change) {
    const choice = at("speed"), index = Math.max(0, Math.min(SPEEDS.length - 1, choice.selectedIndex + change));
    choice.selectedIndex = index;
    state.speed = SPEEDS[index];
  }

  function toggle(name) {
    state[name] = !state[name];
    at(name).setAttribute("aria-pressed", state[name]);
    state.dirty = true;
  }

  function theme(name) {
    document.documentElement.dataset.theme = name;
    state.dirty = true;
  }

  const KEYS = {
    " ": () => play(!state.playing),
    ArrowLeft: (event) => step(event.shiftKey ? -10 : -1), ArrowRight: (event) => step(event.shiftKey ? 10 : 1),
    ArrowUp: () => speed(1), ArrowDown: () => speed(-1),
    Home: () => seek(first), End: () => seek(last),
    l: () => toggle("repeat"), g: () => toggle("grid"), a: () => toggle("axes"), f: reset,
    d: () => theme(dark() ? "light" : "dark"), "+": () => zoom(0.8), "-": () => zoom(1.25),
  };

  function onKey(event) {
    const tag = event.target.tagName, pressed = event.key === " " || event.key === "Enter";
    const native = tag === "SELECT" || (pressed && ["BUTTON", "SUMMARY"].includes(tag));
    const action = KEYS[event.key] || KEYS[event.key.toLowerCase()];
    if (native || !action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action(event);
  }

  function buildControls() {
    const duration = last - first, wanted = duration < 1 ? duration / 4 : duration > 60 ? duration / 30 : 1;
    const nearest = SPEEDS.reduce((a, b) => (Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a));
    for (const value of SPEEDS) at("speed").add(new Option(`${value}\u00d7`));
    at("speed").selectedIndex = SPEEDS.indexOf(nearest);
    speed(0);
    at("speed").onchange = () => speed(0);
    Object.assign(at("scrub"), { min: first, max: last });
    at("scrub").oninput = () => { play(false); seek(Number(at("scrub").value)); };
    at("play").onclick = () => play(!state.playing);
    for (const name of ["repeat", "grid", "axes"]) at(name).onclick = () => toggle(name);
    at("fit").onclick = canvas.ondblclick = reset;
    at("theme").onclick = KEYS.d;
    at("scale").textContent = `grid ${scene.cell} m`;
    addEventListener("keydown", onKey);
  }

  function buildLegend() {
    scene.nodes.forEach((node, k) => {
      const item = document.createElement("li"), button = document.createElement("button"), patch = document.createElement("i");
      patch.style.background = node.color;
      button.append(patch, node.name);
      button.title = "show or hide";
      button.setAttribute("aria-pressed", "true");
      button.onclick = () => {
        if (!state.hidden.delete(k)) state.hidden.add(k);
        button.setAttribute("aria-pressed", !state.hidden.has(k));
        state.dirty = true;
      };
      button.onpointerenter = () => highlight(k);
      button.onpointerleave = () => highlight(-1);
      item.append(button);
      at("bodies").append(item);
    });
    at("legend").open = innerWidth > 700;
  }

  // ---------------------------------------------------------------- mouse and touch

  const pointers = new Map(); // those that are down

  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    highlight(-1);
  };

  canvas.onpointermove = (event) => {
    const now = [event.offsetX, event.offsetY], before = pointers.get(event.pointerId);
    if (!before) return event.pointerType === "mouse" ? highlight(pick(...now), ...now) : undefined;
    const dx = now[0] - before[0], dy = now[1] - before[1];
    const other = [...pointers].find(([id]) => id !== event.pointerId);
    if (other) pinch(before, now, other[1]);
    else if (event.shiftKey || event.buttons & 6) pan(dx, dy);
    else turn(dx, dy);
    pointers.set(event.pointerId, now);
  };

  /** Two fingers: their distance zooms, their middle moves. */
  function pinch(before, now, other) {
    const apart = (p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
    zoom(apart(before) / apart(now));
    pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  }

  canvas.onpointerup = canvas.onpointercancel = (event) => pointers.delete(event.pointerId);
  canvas.onpointerleave = () => highlight(-1);
  canvas.oncontextmenu = (event) => event.preventDefault();
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(0.0012 * event.deltaY * (event.deltaMode ? 30 : 1)));
  }, { passive: false });

  // ---------------------------------------------------------------- the loop

  function resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (state.fitted) fit();
    state.dirty = true;
  }

  let before = 0;

  function tick(now) {
    if (state.playing) {
      const time = state.time + state.speed * Math.min(now - before, 200) / 1000;
      if (time < last) seek(time);
      else if (state.repeat) seek(first + (time - last) % (last - first));
      else { seek(last); play(false); }
    }
    before = now;
    if (state.dirty && !gl.isContextLost()) {
      state.dirty = false;
      draw();
    }
    requestAnimationFrame(tick);
  }

  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.onchange = () => theme(scheme.matches ? "dark" : "light");
  theme(scheme.matches ? "dark" : "light");
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", prepare);
  buildControls();
  buildLegend();
  prepare();
  new ResizeObserver(resize).observe(canvas);
  resize();
  seek(first);
  play(state.playing);
  requestAnimationFrame((now) => { before = now; tick(now); });
})();
