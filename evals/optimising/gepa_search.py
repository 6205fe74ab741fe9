"""GEPA's search over wordings: it picks a parent and what to change; hearing, reflecting, guarding and accepting are ours."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch, GEPAAdapter
from gepa.core.state import GEPAState
from gepa.proposer.base import CandidateProposal

from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from .reflection import Reflector, Refused
from .search import ENTRY, Scene, SearchResult, Validated, WordingTrial
from .wording import Target, with_wording

IDLE = 20
"""Steps in a row without words that are new after which none are to be expected."""

Result = TypeVar("Result")


async def reflective_search(
    scene: Scene, places: Mapping[str, Target], reflector: Reflector, *, minibatch: int, seed: int
) -> SearchResult:
    """Every wording that GEPA had tried until the budget had no room for another.

    GEPA is not async: it runs in a thread, and what it asks for is heard in this event loop.
    """
    adapter = _Adapter(scene, places, reflector, asyncio.get_running_loop())
    texts = {name: target.text(scene.judge) for name, target in places.items()}

    def search() -> None:
        optimize(
            seed_candidate=texts,
            trainset=list(scene.train),
            valset=list(scene.validation),
            adapter=adapter,
            reflection_minibatch_size=min(minibatch, len(scene.train)),
            perfect_score=scene.rewards.best,
            acceptance_criterion=adapter,
            stop_callbacks=adapter,
            logger=_Silent(),
            track_best_outputs=False,
            seed=seed,
        )

    await asyncio.to_thread(search)
    if adapter.failure is not None:
        raise adapter.failure
    return adapter.found


class _Silent:
    """GEPA's log is not shown: what it did is in the lineage."""

    def log(self, message: str) -> None:
        return None


class _Adapter(GEPAAdapter[Case, Verdict, Verdict]):
    """What GEPA may ask of us: verdicts with their rewards, new texts, and whether to accept one."""

    def __init__(
        self,
        scene: Scene,
        places: Mapping[str, Target],
        reflector: Reflector,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._scene, self._places, self._reflector, self._loop = scene, places, reflector, loop
        self.found = SearchResult()
        self.failure: Exception | None = None
        """What ended the search; GEPA would go on after it."""
        self._tried: dict[tuple[str, ...], WordingTrial] = {}
        """By its texts, each wording that was heard."""
        self._validation = [case.id for case in scene.validation]
        self._idle = self._known = 0
        self._attempts: dict[tuple[str, ...], int] = {}

    def evaluate(
        self, batch: list[Case], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[Verdict, Verdict]:
        judge = with_wording(self._scene.judge, candidate, self._places)
        verdicts = self._wait(self._scene.room.verdicts(judge, batch))
        rewards = self._scene.reward_array(verdicts)
        # Where nothing is set for a case without a verdict, a search is steered away from it; no figure has this.
        scores = np.where(np.isnan(rewards), self._scene.rewards.worst, rewards)
        if [case.id for case in batch] == self._validation:
            trial = self._trial_of(candidate)
            trial.validation = self._scene.mean_reward(verdicts)
            self.found.validated.append(Validated(trial, judge, verdicts))
            self._scene.tell(self._progress(trial))
        return EvaluationBatch(verdicts, [float(score) for score in scores], verdicts)

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: EvaluationBatch[Verdict, Verdict],
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        rows = [{"verdict": verdict} for verdict in eval_batch.outputs]
        return dict.fromkeys(components_to_update, rows)

    def propose_new_texts(  # type: ignore[override]
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """New texts, as far as the guard lets them pass; what it refuses is in the lineage."""
        judge = with_wording(self._scene.judge, candidate, self._places)
        texts: dict[str, str] = {}
        for name in components_to_update:
            verdicts = [row["verdict"] for row in reflective_dataset[name]]
            question = (*_key(candidate), name, *(verdict.case for verdict in verdicts))
            attempt = self._attempts[question] = self._attempts.get(question, -1) + 1
            answer = self._wait(self._reflector.propose(self._places[name], judge, verdicts, attempt=attempt))
            if isinstance(answer, Refused):
                self._add(WordingTrial(0, name, self._tried[_key(candidate)].number, "refused", answer.why))
                continue
            texts[name] = answer
        return texts

    def should_accept(self, proposal: CandidateProposal[int], state: GEPAState[Verdict, int]) -> bool:
        """Whether a proposal goes on to the validation cases: by the paired difference on the minibatch, not by its sum."""
        key = _key(proposal.candidate)
        if key in self._tried:
            return False
        assert proposal.eval_before is not None and proposal.eval_after is not None
        old_verdicts, new_verdicts = list(proposal.eval_before.outputs), list(proposal.eval_after.outputs)
        p = self._scene.gain_p(old_verdicts, new_verdicts)
        parent = _parent(proposal, state)
        edited_names = [name for name, text in proposal.candidate.items() if text != parent[name]]
        trial = WordingTrial(
            0,
            ", ".join(edited_names),
            self._tried[_key(parent)].number,
            "accepted" if p <= ENTRY else "rejected",
            ""
            if p <= ENTRY
            else "the gain of the new wording on the cases that it was written from is not statistically significant",
            "\n\n".join(proposal.candidate[name] for name in edited_names),
            {
                "cases": float(len(old_verdicts)),
                "before": self._scene.mean_reward(old_verdicts),
                "after": self._scene.mean_reward(new_verdicts),
                "p": p,
            },
        )
        if extra_open := self._scene.leaves_more_open(old_verdicts, new_verdicts):
            trial.state, trial.why = (
                "rejected",
                f"with the new wording, {extra_open} more questions have no verdict",
            )
        self._tried[key] = self._add(trial)
        return trial.state == "accepted"

    def __call__(self, gepa_state: GEPAState[Any, Any]) -> bool:
        """Whether the search ends: something failed, the budget has no room, or nothing new is asked any more."""
        self._idle = self._idle + 1 if len(self._tried) == self._known else 0
        self._known = len(self._tried)
        return self.failure is not None or self._idle >= IDLE or not self._scene.may_go_on()

    def _trial_of(self, candidate: dict[str, str]) -> WordingTrial:
        key = _key(candidate)
        if key not in self._tried:
            self._tried[key] = self._add(WordingTrial(0, "the first words", None, "first"))
        return self._tried[key]

    def _add(self, trial: WordingTrial) -> WordingTrial:
        trial.number, trial.calls = len(self.found.trials), self._scene.room.calls.used.calls
        self.found.trials.append(trial)
        if trial.state in ("refused", "rejected"):
            self._scene.tell(self._progress(trial))
        return trial

    def _progress(self, trial: WordingTrial) -> str:
        reward = "" if trial.validation is None else f", validation {trial.validation:.3f}"
        reason = f": {trial.why}" if trial.why else ""
        return f"{trial.number}. {trial.label}: {trial.state}{reward}{reason} ({self._scene.room.calls.used.calls} calls)"

    def _wait(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """The result of what runs in the event loop; a failure is kept, for GEPA would go on after it."""
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
        except Exception as error:
            self.failure = self.failure or error
            raise


def _key(candidate: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(candidate[name] for name in sorted(candidate))


def _parent(proposal: CandidateProposal[int], state: GEPAState[Verdict, int]) -> dict[str, str]:
    return dict(state.program_candidates[proposal.parent_program_ids[0]])
