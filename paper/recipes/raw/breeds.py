"""Entity-13 computed from the class hierarchy of ImageNet (BREEDS: Santurkar et al., 2020), not downloaded.

The rule: superclasses are the nodes at depth 3 (longest path from the root) with at least 20 ImageNet classes
below, in the order of their ids. 20 classes are drawn for each, with NumPy's legacy generator seeded with 2.
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacshift.errors import InputError

ROOT = "n00001740"
DEPTH, N_SUBCLASSES, SEED = 3, 20, 2
FILES = ("class_hierarchy.txt", "dataset_class_info.json", "node_names.txt")


@dataclass(frozen=True)
class Superclass:
    """One of the 13 labels and the ImageNet classes (WordNet ids) that make it up."""

    name: str
    subclasses: tuple[str, ...]


def read_superclasses(folder: Path) -> tuple[Superclass, ...]:
    """From ``classes.json``, a list made earlier, or from the three hierarchy files of BREEDS."""
    if (folder / "classes.json").is_file():
        listed = json.loads((folder / "classes.json").read_text(encoding="utf-8"))
        return tuple(
            Superclass(entry["name"].split(",")[0], tuple(sub["wordnet_id"] for sub in entry["subclasses"]))
            for entry in listed
        )
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder}: {missing[0]} is missing. Entity-13 needs the hierarchy of BREEDS ({', '.join(FILES)}) "
            "in the folder 'hierarchy' of the data."
        )
    edges = [tuple(line.split()) for line in (folder / FILES[0]).read_text(encoding="utf-8").splitlines() if line]
    leaves = [entry[1] for entry in json.loads((folder / FILES[1]).read_text(encoding="utf-8"))]
    lines = (folder / FILES[2]).read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t", 1) for line in lines if "\t" in line)
    return superclasses_of([(edge[0], edge[1]) for edge in edges], leaves, names)


def superclasses_of(
    edges: list[tuple[str, str]], leaves: list[str], names: dict[str, str], *, root: str = ROOT
) -> tuple[Superclass, ...]:
    """Apply the rule to a hierarchy given as (parent, child) pairs."""
    children = _towards_leaves(edges, set(leaves))
    depth = _longest_paths(children, root)
    rng = np.random.RandomState(SEED)
    found = []
    for node in sorted(node for node, level in depth.items() if level == DEPTH):
        if len(_leaves_below(node, children, set(leaves))) >= N_SUBCLASSES:
            listed = _leaves_by_branch(node, children, set(leaves))
            drawn = rng.choice(listed, N_SUBCLASSES, replace=False)
            found.append(Superclass(names.get(node, node).split(",")[0], tuple(map(str, drawn))))
    return tuple(found)


def _towards_leaves(edges: list[tuple[str, str]], leaves: set[str]) -> dict[str, list[str]]:
    """The children of every node that leads to a leaf; other branches of WordNet are cut off."""
    parents = defaultdict(set)
    for parent, child in edges:
        parents[child].add(parent)
    useful, todo = set(leaves), list(leaves)
    while todo:
        new = parents[todo.pop()] - useful
        useful |= new
        todo += new
    children: dict[str, list[str]] = defaultdict(list)
    for parent, child in edges:
        if child in useful and child not in children[parent]:
            children[parent].append(child)
    return children


def _longest_paths(children: dict[str, list[str]], root: str) -> dict[str, int]:
    """Depth of every node below the root, by the longest way down to it."""
    depth: dict[str, int] = {}
    todo = [root]
    level = 0
    while todo:
        depth |= dict.fromkeys(todo, level)
        todo = sorted({child for node in todo for child in children.get(node, ())})
        level += 1
        if level > len(children) + 1:
            raise InputError("the hierarchy has a cycle: a class lies below itself. Check class_hierarchy.txt.")
    return depth


def _leaves_below(node: str, children: dict[str, list[str]], leaves: set[str]) -> set[str]:
    """ImageNet classes below a node; nothing below such a class is looked at."""
    found, todo = {node} & leaves, {node}
    while todo:
        below = {child for parent in todo for child in children.get(parent, ())}
        found |= below & leaves
        todo = below - leaves
    return found


def _leaves_by_branch(node: str, children: dict[str, list[str]], leaves: set[str]) -> list[str]:
    """Sorted leaves of the first branches below a node; a class on two branches is listed twice, as published."""
    branches = children[node]
    while len(branches) == 1:
        branches = children[branches[0]]
    return sorted(leaf for branch in branches for leaf in _leaves_below(branch, children, leaves))
