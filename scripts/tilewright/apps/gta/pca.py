"""Principal components: the covariance is a product of matrices on GTA in fp64, its eigenvectors
are NumPy's, and scikit-learn has the reference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.agreement import Agreement
from ..common.files import need
from ..common.limits import check_size
from ..common.matrix_files import write_array
from ..common.units.gta import GtaChoice
from .operands import compare_product, numbers_in, operand_of, read_operand
from .product_report import gta_report
from .products import GtaProducts, check_products

__all__ = ["find_components"]

Floats = NDArray[np.float64]

_SHOWN = 4
_FORMAT = "fp64"


@dataclass(frozen=True, kw_only=True)
class _Components:
    """``variances``: of all features' components, the largest first; ``vectors``: one a row."""

    variances: Floats
    vectors: Floats


def find_components(
    choice: GtaChoice, path: Path | None, count: int | None, output: Path | None
) -> None:
    """Find the first ``count`` components of data, a sample a row, write them, (components,
    features), if that is asked for, and report. Raises UserError for data that have none."""
    title, data = _read(path)
    samples, features = data.shape
    if samples < 2:
        raise UserError(f"{title}: must have at least 2 samples, a row each, not {samples}")
    most = min(samples, features)
    if count is not None and not 1 <= count <= most:
        raise UserError(f"--components must be in 1..{most}, not {count}")
    check_size(f"the covariance of {title}", features, features)
    check_products(title, choice, samples * features * features)
    with np.errstate(all="ignore"):
        centred = operand_of(title, data - data.mean(axis=0), _FORMAT).words
    with GtaProducts(choice) as products:
        words = products.multiply(np.ascontiguousarray(centred.T), centred)
    values = numbers_in(centred, _FORMAT)
    product = compare_product(_FORMAT, words, np.ascontiguousarray(values.T), values)
    covariance = numbers_in(words, _FORMAT) / (samples - 1)
    if not np.isfinite(covariance).all():
        raise UserError(f"{title}: the covariance is beyond {_FORMAT}")
    found = _decomposed(covariance)
    kept = count if count is not None else most
    agreement = _compare(data, found, kept)
    total = float(found.variances.sum())
    shares = found.variances[:kept] / total if total else found.variances[:kept] * 0
    shown = ", ".join(f"{share:.2%}" for share in shares[:_SHOWN])
    more = f" and {kept - _SHOWN:,} more" if kept > _SHOWN else ""
    lines = [
        ("data", f"{samples:,} samples, {features:,} features"),
        ("components", f"{kept:,}, {shares.sum():.2%} of the variance: {shown}{more}"),
        ("on the host", "means and eigenvectors"),
    ]
    if output:
        write_array(output, found.vectors[:kept])
        lines.append(("components", str(output)))
    details = {
        "data": title,
        "shape": [samples, features],
        "components": kept,
        "variances": found.variances[:kept].tolist(),
        "shares": shares.tolist(),
    }
    gta_report(
        "pca",
        f"components of {title}",
        lines,
        choice,
        products.tally,
        [product, agreement],
        details,
    ).finish()


def _read(path: Path | None) -> tuple[str, Floats]:
    if path is None:
        loader = need("sklearn.datasets", "scikit-learn")
        return "scikit-learn's digits", np.asarray(loader.load_digits().data, np.float64)
    return str(path), read_operand(path, _FORMAT, finite="samples must be finite").values


def _decomposed(covariance: Floats) -> _Components:
    variances, vectors = np.linalg.eigh(covariance)
    return _Components(variances=variances[::-1], vectors=vectors.T[::-1])


def _compare(data: Floats, found: _Components, kept: int) -> Agreement:
    """Variances and components beside scikit-learn's, up to their signs.

    Roundings of the sums and of both decompositions move the covariance, in the 2-norm, by less
    than as many units of its trace as a sum has terms; that moves variances by as much (Weyl), and
    a component by that over the distance to the next variance (Davis and Kahan), among those of
    all features: of data with fewer samples than features the last ones are all 0.
    """
    solver: Any = need("sklearn.decomposition", "scikit-learn").PCA(svd_solver="full")
    with np.errstate(all="ignore"):
        reference = solver.fit(data)
    eps = float(np.finfo(np.float64).eps)
    moved = 4 * eps * sum(data.shape) * float(np.maximum(found.variances, 0).sum())
    error = np.abs(found.variances[:kept] - reference.explained_variance_[:kept])
    wide = np.concatenate([[np.inf], found.variances, [-np.inf]])
    gaps = np.minimum(wide[:-2] - wide[1:-1], wide[1:-1] - wide[2:])[:kept]
    ours, theirs = found.vectors[:kept], reference.components_[:kept]
    signs = np.sign((ours * theirs).sum(axis=1))[:, np.newaxis]
    turned = np.linalg.norm(ours * signs - theirs, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = np.nan_to_num(2 * moved / gaps, nan=np.inf, posinf=np.inf) + 8 * eps
        shares = np.concatenate([error / moved if moved else error, turned / allowed])
    return Agreement(
        source="scikit-learn's PCA",
        criterion="rounding",
        values=2 * kept,
        wrong=int(np.count_nonzero(shares > 1)),
        largest=float(error.max()),
        worst=float(shares.max()),
        named="variances and components",
    )
