"""Proves instances and reports it: python -m quartet_research.emos.prove --family height --episodes 20 --seed 0."""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from quartet_research.emos.families import FAMILIES
from quartet_research.emos.generate import Made, make
from quartet_research.emos.proof import TRY_ALL


def main() -> None:
    """Make the instances that the command line names; print a line for each, and a summary."""
    parser = argparse.ArgumentParser(prog="python -m quartet_research.emos.prove", description=__doc__)
    parser.add_argument("--family", choices=[*FAMILIES, "all"], default="all")
    parser.add_argument("--episodes", type=int, help="default: as many as published")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first one")
    parser.add_argument("--write", type=Path, help="folder for the instances as JSON")
    given = parser.parse_args()
    for family in FAMILIES if given.family == "all" else [given.family]:
        count = given.episodes or FAMILIES[family].episodes
        made: list[Made] = []
        began = time.process_time()
        for seed in range(given.seed, given.seed + count):
            made.append(make(family, seed))
            print(json.dumps(row_of(made[-1])), flush=True)
            if given.write is not None:
                given.write.mkdir(parents=True, exist_ok=True)
                path = given.write / f"{family}-{seed}.json"
                path.write_text(made[-1].instance.model_dump_json(indent=1), encoding="utf-8")
        print(json.dumps(summary_of(family, made) | {"cpu_s": round(time.process_time() - began, 1)}), flush=True)


def row_of(made: Made) -> dict[str, object]:
    """Return what the proof of an instance shows."""
    instance, proof = made.instance, made.proof
    first = proof.full[proof.winners[0]]
    return {
        "family": instance.family,
        "seed": instance.seed,
        "building": instance.building,
        "right": [instance.robots[robot] for robot in proof.winners[0]],
        "chance": round(proof.chance, 3),
        "oracle_steps": first.steps,
        "step_limit": proof.step_limit,
        TRY_ALL: None if proof.try_all is None or not proof.try_all.succeeded else proof.try_all.steps,
        "played_in_full": len(proof.full),
        "redraws": dict(made.redraws),
        "cpu_s": round(made.cpu_s, 2),
    }


def summary_of(family: str, made: list[Made]) -> dict[str, object]:
    """Return counts over the instances of a family."""
    proofs = [one.proof for one in made]
    return {
        "family": family,
        "kept": len(made),
        "redraws": dict(sum((one.redraws for one in made), Counter[str]()).most_common()),
        "kept_by_the_published_rule": sum(proof.published_rule for proof in proofs),
        "chance": round(sum(proof.chance for proof in proofs) / len(made), 3),
        "first_subtask_of": dict(Counter(one.instance.robots[one.proof.winners[0][0]] for one in made)),
        "first_robot": dict(Counter(next(iter(one.instance.robots.values())) for one in made)),
        "cpu_s_each": round(sum(one.cpu_s for one in made) / len(made), 2),
        "cpu_s_proof": round(sum(proof.cpu_s for proof in proofs) / len(made), 2),
    }


if __name__ == "__main__":
    main()
