"""Write stamps/train.csv and stamps/test.csv: names of pictures, and their captions in English."""

import csv
import random
from pathlib import Path

folder = Path("stamps")
rows = []
for picture in sorted(folder.rglob("*.png")):
    text = picture.with_suffix(".txt")
    caption = text.read_text("utf-8").splitlines()[0].strip() if text.exists() else ""
    if caption and not picture.stem.endswith("_mirror"):
        rows.append((picture.relative_to(folder).as_posix(), caption))

# Captions that are the same are in the same part, so that no test caption was learned from.
captions = sorted({caption for _, caption in rows})
random.Random(0).shuffle(captions)
test = set(captions[: len(captions) // 4])
for name, wanted in (("train", False), ("test", True)):
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "caption"))
        writer.writerows(row for row in rows if (row[1] in test) == wanted)
