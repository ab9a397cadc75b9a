// Pictures that are dropped, pasted or chosen. They stay in this tab: an address cannot have them.

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/bmp", "image/tiff", "image/webp"];

export const NOT_A_PICTURE = "This is not a picture that can be read here: PNG, JPEG, GIF, BMP, TIFF or WebP.";

// onPicture is called with a file; onRefused with a sentence.
export function takePictures(field, onPicture, onRefused) {
  const take = (files) => {
    const picture = [...files].find((file) => KINDS.includes(file.type));
    if (picture) onPicture(picture);
    else if (files.length) onRefused(NOT_A_PICTURE);
  };
  field.addEventListener("change", () => {
    take(field.files);
    field.value = "";
  });
  document.addEventListener("paste", (event) => take(event.clipboardData?.files ?? []));
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    take(event.dataTransfer?.files ?? []);
  });
}
