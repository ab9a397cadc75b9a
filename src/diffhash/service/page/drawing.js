// A canvas to draw on with a pen, a finger or a mouse. What is drawn goes into the address as a few hundred letters.

const SIDE = 1000; // coordinates are whole numbers below this
const STEP = 12; // points nearer than this to the last one are left out
const MOST = 1500; // points

export class Drawing {
  // onChange is called with the drawing as text after each stroke; with "" if it was cleared.
  constructor(canvas, { undo, clear }, onChange) {
    this.canvas = canvas;
    this.onChange = onChange;
    this.strokes = [];
    this.current = null;
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => this.end());
    undo.addEventListener("click", () => this.change(() => this.strokes.pop()));
    clear.addEventListener("click", () => this.change(() => { this.strokes = []; }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  change(how) {
    how();
    this.paint();
    this.onChange(this.text);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const inside = (value) => Math.max(0, Math.min(SIDE - 1, Math.round(value * SIDE)));
    return [inside((event.clientX - box.left) / box.width), inside((event.clientY - box.top) / box.height)];
  }

  begin(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.current = [this.place(event)];
    this.strokes.push(this.current);
    this.paint();
  }

  move(event) {
    if (!this.current) return;
    const point = this.place(event);
    const last = this.current.at(-1);
    if (Math.hypot(point[0] - last[0], point[1] - last[1]) < STEP) return;
    if (this.strokes.reduce((sum, stroke) => sum + stroke.length, 0) >= MOST) return;
    this.current.push(point);
    this.paint();
  }

  end() {
    if (!this.current) return;
    this.current = null;
    this.onChange(this.text);
  }

  get text() {
    return this.strokes.map((stroke) => stroke.map(([x, y]) => `${x}.${y}`).join("-")).join("_");
  }

  show(text) {
    if (text === this.text) return;
    const isDrawing = /^\d{1,3}\.\d{1,3}([-_]\d{1,3}\.\d{1,3})*$/.test(text);
    this.strokes = isDrawing ? text.split("_").map((part) => part.split("-").map((point) => point.split(".").map(Number))) : [];
    this.paint();
  }

  paint() {
    const { width, height } = this.canvas;
    const pen = this.canvas.getContext("2d");
    pen.clearRect(0, 0, width, height);
    pen.strokeStyle = getComputedStyle(this.canvas).color;
    pen.lineWidth = width / 28;
    pen.lineCap = pen.lineJoin = "round";
    for (const stroke of this.strokes) {
      const places = stroke.map(([x, y]) => [(x * width) / SIDE, (y * height) / SIDE]);
      pen.beginPath();
      pen.moveTo(...places[0]);
      for (const place of places) pen.lineTo(...place);
      pen.stroke();
    }
  }
}
