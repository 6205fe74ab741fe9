"""What calibration curves share with scikit-learn's estimators, which are not needed to use them."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar, Self

from ...rubrics.errors import VenireError


class NotFitted(VenireError):
    """Something was asked of an estimator that has learned nothing yet."""

    def __init__(self) -> None:
        super().__init__("nothing has been learned yet", remedy="call fit first")


class Estimator:
    """Options are the constructor's parameters, kept under their names; what `fit` learns ends in an underscore.

    That is scikit-learn's contract, so its `clone`, `cross_val_score` and grid searches take these estimators.
    """

    sklearn_type: ClassVar[str | None] = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name; none of them is an estimator, so `deep` makes no difference."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **options: Any) -> Self:
        """The same estimator with these options changed."""
        known = self.get_params()
        for name, value in options.items():
            if name not in known:
                raise VenireError(
                    f"{type(self).__name__} has no option {name!r}",
                    remedy=f"choose one of {', '.join(known)}",
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({options})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator that it is given."""
        from sklearn.utils import RegressorTags, Tags, TargetTags

        return Tags(self.sklearn_type, TargetTags(required=True), regressor_tags=RegressorTags())
