"""The data that the accuracy benchmark runs on, and what each dataset may be used for.

*Development* sets: rules and defaults of the package may be tried on them, by cross-validation inside
the training rows. *Report* sets are run once, when everything is decided, and reported as they come.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .loaders import (
    Load,
    Task,
    load_digit_halves,
    load_stamps,
    load_symbols_task,
    make_aligned_embeddings,
    paper_data,
    read_split,
)

__all__ = ["DATASETS", "DATA_VARIABLE", "DEVELOPMENT", "REPORT", "ROOT", "Dataset", "Task", "data_folder"]

ROOT = Path(__file__).parent.parent
#: Environment variable that names the folder of the data files.
DATA_VARIABLE = "DIFFHASH_DATA"
DEVELOPMENT, REPORT = "development", "report"


def data_folder() -> Path | None:
    """The folder that the environment names, or None."""
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


@dataclass(frozen=True)
class Dataset:
    """How a task is made.

    Attributes
    ----------
    load : function of a seed and a folder
    role : {"development", "report"}
    redrawn : bool
        Whether another seed draws other data or another split.
    file : str or None
        What the folder must hold.
    labelled : bool
        Whether there are labels, or pairs alone.
    one_space : bool
        Whether both views are embeddings in one space, so that raw signs make sense.
    size : int
        Training rows, roughly: larger sets are measured first, so that parallel jobs end together.
    """

    key: str
    title: str
    about: str
    load: Load
    role: str
    size: int
    redrawn: bool = False
    file: str | None = None
    labelled: bool = True
    one_space: bool = False

    def available(self, folder: Path | None) -> bool:
        return self.file is None or (folder is not None and (folder / self.file).is_file())


def paper(n_classes: int) -> Dataset:
    about = (
        f"{n_classes} classes, centres of scale 5, views of 128 and 64 features, 10,000 training and "
        "5,000 test objects (`make_paper_data`). Each seed draws other data."
    )
    title = f"The paper's data, K = {n_classes}"
    return Dataset(f"paper-{n_classes}", title, about, paper_data(n_classes), REPORT, 10_000, redrawn=True)


DATASETS = {
    dataset.key: dataset
    for dataset in (
        Dataset(
            "wiki",
            "Wikipedia articles",
            "Pictures (128 SIFT words) and texts (10 topics) of 2,866 articles of 10 classes, split 2,173 to 693.",
            read_split("wiki.npz", "image", "text"),
            DEVELOPMENT,
            2173,
            file="wiki.npz",
        ),
        Dataset(
            "uci-digits",
            "UCI multiple features",
            "Handwritten digits by 76 Fourier and 64 Karhunen-Loève coefficients, 1,500 training and 500 test "
            "objects of 10 classes.",
            read_split("uci_digits.npz", "fourier", "karhunen"),
            DEVELOPMENT,
            1500,
            file="uci_digits.npz",
        ),
        Dataset(
            "cora",
            "Cora",
            "Scientific papers by their words (1,433) and their citation links (2,708), both sparse counts; 1,896 "
            "training and 812 test objects of 7 classes of unequal size. Three splits.",
            read_split("cora.npz", "words", "links", redraw=True, as_sparse=True),
            DEVELOPMENT,
            1896,
            redrawn=True,
            file="cora.npz",
        ),
        Dataset(
            "scene15",
            "Scenes",
            "Pictures of 15 kinds of scenes by two descriptors of 59 and 40 features, 3,140 training and 1,345 "
            "test objects.",
            read_split("scene15.npz", "a", "b"),
            DEVELOPMENT,
            3140,
            file="scene15.npz",
        ),
        Dataset(
            "aligned",
            "Aligned embeddings",
            "Made up: one latent vector in 128 dimensions, standard deviations falling with the root of the rank, "
            "randomly rotated; each view adds an offset of its own and isotropic noise and is scaled to unit "
            "length, as vectors of one image–text model are. 4,000 training and 1,000 test pairs, no labels. "
            "Not the output of any real model. Each seed draws other data.",
            make_aligned_embeddings,
            DEVELOPMENT,
            4000,
            redrawn=True,
            labelled=False,
            one_space=True,
        ),
        Dataset(
            "leaves",
            "Leaves",
            "Leaves of 100 species by shape and texture, 64 features each; 1,120 training and 480 test "
            "objects. Three splits.",
            read_split("leaves.npz", "shape", "texture", redraw=True),
            REPORT,
            1120,
            redrawn=True,
            file="leaves.npz",
        ),
        Dataset(
            "ngs",
            "Newsgroups",
            "Messages of 5 newsgroups by two kinds of word counts, 2,000 features each; 350 training and 150 test "
            "objects. Three splits.",
            read_split("ngs.npz", "a", "b", redraw=True),
            REPORT,
            350,
            redrawn=True,
            file="ngs.npz",
        ),
        Dataset(
            "stamps",
            "Stamps",
            "Pictures (EfficientNet-Lite1, 1,280 features) and English captions (MiniLM, 384) of stamps, "
            "the first object of each caption. No labels: methods learn from pairs, and only an item's own "
            "partner is relevant. Three splits.",
            load_stamps,
            REPORT,
            500,
            redrawn=True,
            file="stamps.npz",
            labelled=False,
        ),
        Dataset(
            "digit-halves",
            "Halves of digits",
            "scikit-learn's 8 × 8 digits: the left and the right four columns (32 pixels each) are the two views; "
            "1,200 training and 597 test objects of 10 classes.",
            load_digit_halves,
            REPORT,
            1200,
        ),
        Dataset(
            "symbols",
            "Symbols",
            "Pictures and Unicode names of 5,749 characters (`load_symbols`), 600 of them held out. No labels: "
            "methods learn from pairs, and only an item's own partner is relevant.",
            load_symbols_task,
            REPORT,
            12_000,
            labelled=False,
        ),
        paper(25),
        paper(50),
        paper(100),
    )
}
