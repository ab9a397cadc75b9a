"""The views of a task as the peers see them: represented as chosen for the dataset."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..datasets import Task
from ..peers import Representation, Setting, choose_representations

BEST, KERNEL = "best", "kernel"


class Representations:
    """Settings of the views for each set of features, as kept in the results.

    ``best`` is the best representation of each view. If one of them is linear, ``kernel`` is the best
    kernel of each view: peers are tuned on both sets, and one that has too few bits on linear features
    is run on kernel features.
    """

    def __init__(self, kept: dict[str, Any]) -> None:
        self.kept = kept
        self.sets = {
            name: {modality: Setting(*values) for modality, values in kept[name].items()}
            for name in (BEST, KERNEL)
            if name in kept
        }

    @classmethod
    def choose(cls, task: Task) -> Representations:
        started = time.process_time()
        choice = choose_representations(task.train, task.train_labels)
        kept: dict[str, Any] = {BEST: _plain(choice.best)}
        if choice.best != choice.kernel:
            kept[KERNEL] = _plain(choice.kernel)
        kept["scores"] = {
            modality: {str(setting): round(score, 4) for setting, score in tried.items()}
            for modality, tried in choice.scores.items()
        }
        kept["seconds"] = round(time.process_time() - started, 2)
        return cls(kept)


def _plain(settings: dict[str, Setting]) -> dict[str, list[Any]]:
    return {modality: [setting.scaling, setting.width] for modality, setting in settings.items()}


class FeatureSets:
    """A task in each set of features, made when it is first asked for; so is the choice.

    ``seconds`` has the CPU time of fitting and applying the maps, by set: to the training rows, and to
    the test rows.
    """

    def __init__(self, task: Task, seed: int, choose: Callable[[], Representations]) -> None:
        self.raw = task
        self.choose = choose
        self._seed = seed
        self._made: dict[str, Task] = {}
        self.seconds: dict[str, tuple[float, float]] = {}

    @property
    def names(self) -> list[str]:
        return list(self.choose().sets)

    def __getitem__(self, name: str) -> Task:
        if name not in self._made:
            settings = self.choose().sets[name]
            started = time.process_time()
            maps = {
                modality: Representation(settings[modality], random_state=self._seed).fit(X)
                for modality, X in self.raw.train.items()
            }
            train = {modality: maps[modality].transform(X) for modality, X in self.raw.train.items()}
            between = time.process_time()
            test = {modality: maps[modality].transform(X) for modality, X in self.raw.test.items()}
            self._made[name] = Task(train, test, self.raw.train_labels, self.raw.test_labels)
            self.seconds[name] = between - started, time.process_time() - between
        return self._made[name]
