"""What a number of objects needs, from measured constants: memory, time, network and machines.

The model behind ``docs/howto/capacity.md``. It is a handful of formulas; ``benchmarks.capacity`` measures the constants
and compares the formulas with measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """What is measured on one machine.

    Attributes
    ----------
    index_bytes : float
        Memory of an index for one code of 64 bits, with its id.
    file_bytes : float
        Bytes of a collection for one object with a payload of about 60 characters.
    scan_bandwidth : float
        Bytes of codes that one query reads in a second, with all threads.
    batch_distances : float
        Distances in a second with many queries at once, of one thread.
    fit_rows, encode_rows : float
        Objects in a second, of one thread.
    answer_bytes : float
        Bytes of the ten nearest, with ids and distances, from one shard.
    merge_rows : float
        Lists of ten that are merged in a second.
    """

    index_bytes: float
    file_bytes: float
    scan_bandwidth: float
    batch_distances: float
    fit_rows: float
    encode_rows: float
    answer_bytes: float
    merge_rows: float
    code_bytes: int = 8


@dataclass(frozen=True)
class Machine:
    """A machine on which shards run. ``memory`` in bytes; a part of it stays free for the rest."""

    memory: float
    cores: int
    used_share: float = 0.7


@dataclass(frozen=True)
class Plan:
    """What ``n_objects`` need.

    Attributes
    ----------
    memory, disk : float
        Bytes of all shards.
    shards : int
        Machines that hold each object once.
    one_query : float
        Seconds for one query; all shards work at the same time.
    queries_per_core : float
        Queries in a second and core of a shard, in batches.
    queries : float
        Queries in a second of all shards together.
    replicas : int
        Copies of each shard for the wanted queries in a second.
    network : float
        Bytes in a second that each shard sends at the wanted queries in a second.
    merge : float
        Seconds for merging the answers of all shards.
    fit_hours, encode_hours : float
        Core hours.
    """

    n_objects: float
    memory: float
    disk: float
    shards: int
    one_query: float
    queries_per_core: float
    queries: float
    replicas: int
    network: float
    merge: float
    fit_hours: float
    encode_hours: float

    @property
    def machines(self) -> int:
        """Shards times replicas."""
        return self.shards * self.replicas


def plan(
    n_objects: float, constants: Constants, machine: Machine, *, wanted_queries: float, most_seconds: float
) -> Plan:
    """What a number of objects needs.

    Parameters
    ----------
    n_objects : float
    constants : Constants
    machine : Machine
    wanted_queries : float
        Queries in a second.
    most_seconds : float
        Longest time that one query may take.

    Examples
    --------
    >>> constants = Constants(16, 100, 20e9, 5e9, 2e4, 2e5, 200, 1e5)
    >>> found = plan(1e9, constants, Machine(64e9, 16), wanted_queries=100, most_seconds=0.5)
    >>> found.shards, round(found.one_query, 3), found.machines
    (1, 0.4, 2)
    """
    memory = n_objects * constants.index_bytes
    by_memory = memory / (machine.memory * machine.used_share)
    by_time = n_objects * constants.code_bytes / constants.scan_bandwidth / most_seconds
    shards = max(math.ceil(by_memory), math.ceil(by_time), 1)
    share = n_objects / shards
    per_core = constants.batch_distances / share
    queries = per_core * machine.cores
    replicas = max(math.ceil(wanted_queries / queries), 1)
    return Plan(
        n_objects=n_objects,
        memory=memory,
        disk=n_objects * constants.file_bytes,
        shards=shards,
        one_query=share * constants.code_bytes / constants.scan_bandwidth,
        queries_per_core=per_core,
        queries=queries,
        replicas=replicas,
        network=wanted_queries / replicas * constants.answer_bytes,
        merge=shards / constants.merge_rows,
        fit_hours=n_objects / constants.fit_rows / 3600,
        encode_hours=n_objects / constants.encode_rows / 3600,
    )
