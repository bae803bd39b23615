"""Takes steps of all kinds in random order, in children, so that a crash is a finding;
a sequence that finds something is made as short as possible and printed.

    python tests/machine/run.py --sequences 200 --steps 30 --seed 0
    python tests/machine/run.py --play '[["add", 1], ["update", 2]]'
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__)
# Of one child: a sequence does not see what an earlier one left behind in the process.
SECONDS = 300
BATCH = 20


def run_child(*arguments: str) -> tuple[int, str]:
    """RETURNS (tuple): The exit code of a child, and the end of what it printed."""
    env = {**os.environ, "PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE), *arguments]
    try:
        done = subprocess.run(
            command,
            env=env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no end after {SECONDS} seconds"
    return done.returncode, (done.stdout + done.stderr)[-3000:]


def fails(steps: list) -> str:
    code, output = run_child("--play", json.dumps(steps))
    return output if code else ""


def shrink(steps: list) -> list:
    """Leave out steps as long as what is left still fails."""
    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            shorter = steps[:start] + steps[start + size :]
            if shorter and fails(shorter):
                steps = shorter
            else:
                start += size
        size //= 2
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--findings", type=int, default=1, help="stop after so many")
    parser.add_argument("--play", help="steps to take, as JSON")
    parser.add_argument("--child", action="store_true", help="no children of its own")
    args = parser.parse_args()
    if args.play or args.child:
        sys.path.insert(0, str(HERE.parents[1]))
        from machine.world import draw_steps, play  # noqa: PLC0415

        if args.play:
            play([tuple(step) for step in json.loads(args.play)], verbose=True)
            return
        for seed in range(args.seed, args.seed + args.sequences):
            print(f"seed {seed}", flush=True)
            play(draw_steps(seed, args.steps))
        return
    start, done, findings = time.time(), 0, 0
    while done < args.sequences and findings < args.findings:
        n = min(BATCH, args.sequences - done)
        first = args.seed + done
        code, output = run_child(
            *("--child", "--sequences", str(n)),
            *("--steps", str(args.steps), "--seed", str(first)),
        )
        if code:
            findings += 1
            seeds = [
                line.split()[1]
                for line in output.split("\n")
                if line.startswith("seed ")
            ]
            report(int(seeds[-1]) if seeds else first, args.steps, output)
            n = (int(seeds[-1]) if seeds else first) - first + 1
        done += n
        print(f"{done} sequences, {time.time() - start:.0f} s", flush=True)
    print(f"{done - findings} passed, {findings} failed")
    sys.exit(bool(findings))


def report(seed: int, n_steps: int, output: str) -> None:
    sys.path.insert(0, str(HERE.parents[1]))
    from machine.world import draw_steps  # noqa: PLC0415

    steps: list = [list(step) for step in draw_steps(seed, n_steps)]
    print(f"A finding, seed {seed}:\n{output}")
    if not fails(steps):
        print("It needs what sequences before it left behind in the process.")
        return
    steps = shrink(steps)
    print(fails(steps))
    print(f"Again: python tests/machine/run.py --play '{json.dumps(steps)}'")


if __name__ == "__main__":
    main()
