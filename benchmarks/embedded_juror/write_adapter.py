"""The adapter of `train.py` as the GGUF file that is shipped.

python benchmarks/embedded_juror/write_adapter.py RUN agents/adapters/embedded-juror.gguf --thresholds thresholds.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from safetensors.numpy import load_file

from venire.agents.clients.weights import SHA256
from venire.agents.embedded.sampling import KEY, read_thresholds
from venire.evals.training.gguf_adapter import write_adapter

HEADS, KEY_HEADS = 9, 3
"""Of SmolLM2-135M."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--thresholds", type=Path, help="what `thresholds.py` chose for an adapter of these weights"
    )
    options = parser.parse_args()
    weights = {
        name: values
        for part in sorted(options.run.glob("adapter-*.safetensors"))
        for name, values in load_file(part).items()
    }
    alpha = json.loads((options.run / "log.json").read_text())["alpha"]
    details = {
        "general.license": "apache-2.0",
        "general.description": "Taught to fill in venire's ballots. Notes of MTS-Dialog (CC BY 4.0) and invented cases.",
    }
    if options.thresholds:
        details[KEY] = json.dumps(json.loads(options.thresholds.read_text(encoding="utf-8")))
        read_thresholds(details)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_adapter(
        weights,
        options.out,
        alpha=alpha,
        heads=HEADS,
        key_heads=KEY_HEADS,
        base_sha256=SHA256,
        name="venire-embedded-juror",
        details=details,
    )
    print(options.out.stat().st_size)


if __name__ == "__main__":
    main()
