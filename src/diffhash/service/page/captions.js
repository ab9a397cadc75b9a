// What to show of a payload: a picture, a caption, and the rest.

const CAPTIONS = ["caption", "name", "title", "label", "text"];
const FILE = /[^/]\.(png|jpe?g|gif|webp|bmp|tiff?)$/i;
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/;

export function pictureOf(payload) {
  for (const value of Object.values(payload)) {
    if (typeof value === "string" && PICTURE.test(value)) return value;
  }
  return null;
}

export function captionOf(id, payload) {
  for (const name of CAPTIONS) {
    const value = payload[name];
    if (typeof value === "string" && value !== "") return value;
  }
  // The name of a picture file says enough; its folder is part of the id, which is shown with the reasons.
  const name = String(id);
  return FILE.test(name) ? name.slice(name.lastIndexOf("/") + 1) : name;
}

export function shownFields(payload) {
  return Object.entries(payload).filter(([, value]) => !(typeof value === "string" && PICTURE.test(value)));
}

export function textOf(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)} …` : text;
}
