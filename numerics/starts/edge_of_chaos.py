"""Starts on the edge of chaos: a user's feed-forward network of linear or low-rank layers with χ = 1 (Nait Saada and
Tanner 2023).

    h^(l) = W^(l)φ(h^(l-1)) + bias,     q* = γ(σ_α²∫φ²(√q* z)Dz + σ_b²),     χ = γσ_α²∫φ'(√q* z)²Dz = 1

At the edge neither signals nor gradients grow or vanish exponentially with depth, in the mean over wide networks. What
rank does to the spread of the singular values no variance undoes (`derivations.random_matrices.not_rescalable`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from derivations.signal_propagation import activation, edge_of_chaos, from_fixed_point
from numerics.measures.evaluation import sharing_memory
from numerics.networks.low_rank import LowRankLinear
from numerics.starts.low_rank import (
    DRAWN,
    check_gamma,
    check_generator,
    low_rank_orthogonal_,
    normal,
    orthonormal_columns,
    rank_of,
    variance_of,
)

if TYPE_CHECKING:
    from derivations.signal_propagation.evaluators.activations import Activation

ENSEMBLES = ("gaussian", "orthogonal")
# Modules without parameters that do more to signals than an activation does.
ALTERING = (
    nn.modules.batchnorm._NormBase,
    nn.LayerNorm,
    nn.RMSNorm,
    nn.GroupNorm,
    nn.LocalResponseNorm,
    nn.modules.dropout._DropoutNd,
    nn.modules.pooling._AvgPoolNd,
    nn.modules.pooling._MaxPoolNd,
)
ENTRYWISE = (
    nn.Tanh, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.Mish, nn.ELU, nn.SELU, nn.CELU, nn.Sigmoid,
    nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.Softplus, nn.Softsign, nn.Tanhshrink, nn.Hardshrink, nn.Softshrink,
    nn.LogSigmoid,
)  # fmt: skip
PROBE = np.linspace(-3.0, 3.0, 25)


@dataclass(frozen=True)
class LayerOnEdge:
    """What a layer was given: its rank, γ = r/N_out, σ_α² and σ_b², and the length q* that is a fixed point with them
    (NaN where every length is one).
    """

    rank: int
    gamma: float
    sigma_alpha2: float
    sigma_b2: float
    q_star: float


def edge_of_chaos_(
    module: nn.Module,
    phi: Any,
    *,
    q_star: float | None = None,
    sigma_b2: float | None = None,
    gamma: float | None = None,
    ensemble: str = "gaussian",
    shared_bias: bool = False,
    skip: Collection[str] = (),
    generator: torch.Generator | None = None,
) -> dict[str, LayerOnEdge]:
    """Draw the weights and biases of every linear layer of a network such that χ = 1, in place.

    ``LowRankLinear`` layers keep their rank, and get another basis. ``nn.Linear`` layers get independent entries of
    variance σ_α²/N_in, or, with ``gamma``, weights CA of that rank, and a bias in the span of C; training does not keep
    their rank. The network is taken to be a chain of these layers with φ between them: what its forward does beside, a
    residual or a scale, cannot be seen here.

    Args:
        module: the network, or one layer of it.
        phi: the activation: a name, an `Activation` or a function of a torch tensor, as for
            `derivations.signal_propagation.activation`. Activation modules of the network are held against it.
        q_star: the length |h|²/N that is to be a fixed point, positive; or
        sigma_b2: the variance σ_b² of the bias coefficients. Without either it is 0.
        gamma: ratio of rank to width in (0, 1] for the ``nn.Linear`` layers; None leaves them full rank.
        ensemble: "gaussian" or "orthogonal" (`low_rank_orthogonal_`); of the latter no layer may have more columns than
            inputs.
        shared_bias: one number b for all directions of a layer, as the paper has it: lengths then do not settle at q*,
            however wide the network is.
        skip: names of modules to leave alone, with all that is in them; "" is the network itself.
        generator: as for `low_rank_gaussian_`; layers are drawn in the order of `module.named_modules()`.

    Returns:
        The layers that were drawn, by name, each a `LayerOnEdge`.

    Raises:
        ValueError: no linear layer; a module with parameters that is none (a convolution, a recurrent layer, a norm, an
            embedding, parameters of your own), or that alters lengths (dropout, pooling, a norm without parameters); an
            activation of the network that is not φ; weights that are frozen, shared between layers, parametrised,
            pruned, lazy or on the meta device; an edge that needs a bias where there is none, or does not exist; a
            value out of its range. Nothing is changed then.
        TypeError: what is no module, real weights, or number.

    Source: naitsaada2023, Sec. 1 and 1.1, edge-of-chaos-def and eoc-rescaling.

    >>> net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))
    >>> found = edge_of_chaos_(net, "tanh", gamma=0.25)
    >>> {name: (layer.rank, layer.sigma_alpha2) for name, layer in found.items()}
    {'0': (16, 4.0), '2': (16, 4.0)}
    """
    phi = activation(phi)
    if ensemble not in ENSEMBLES:
        raise ValueError(f"the ensemble is one of {', '.join(ENSEMBLES)}, not {ensemble!r}")
    if gamma is not None:
        check_gamma(gamma)
    if q_star is not None and sigma_b2 is not None:
        raise ValueError(
            "give either the length q_star or the variance sigma_b2 of the bias: one decides the other"
        )
    check_generator(generator)
    layers = _layers(module, phi, skip)
    planned = {name: _planned(layer, phi, q_star, sigma_b2, gamma) for name, layer in layers.items()}
    for name, layer in layers.items():
        _check(name, layer, planned[name], phi, ensemble)
    lengths = {plan.q_star for plan in planned.values() if not math.isnan(plan.q_star)}
    if lengths and max(lengths) - min(lengths) > 1e-9 * max(lengths):
        listed = ", ".join(f"{name or 'the layer'}: q* = {plan.q_star:g}" for name, plan in planned.items())
        raise ValueError(
            f"one sigma_b2 gives layers of different rank ratios different lengths ({listed}): give q_star instead"
        )
    for name, layer in layers.items():
        low_rank = gamma is not None or shared_bias
        _draw(layer, planned[name], ensemble, shared_bias, low_rank, generator)
    return planned


def _layers(
    module: nn.Module, phi: Activation, skip: Collection[str]
) -> dict[str, nn.Linear | LowRankLinear]:
    """The linear layers by name. Raises ValueError for whatever else has a part in the network."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"the network is a torch.nn.Module, not a {type(module).__name__}")
    if isinstance(skip, str):
        raise TypeError(f"skip is a collection of names: [{skip!r}]")
    everything = dict(module.named_modules(remove_duplicate=False))
    if unknown := [name for name in skip if name not in everything]:
        raise ValueError(
            f"the network has no module {unknown[0]!r} to skip; it has {', '.join(map(repr, everything))}"
        )
    kept = {name: each for name, each in everything.items() if not _within(name, skip)}
    found: dict[str, nn.Linear | LowRankLinear] = {}
    for name, each in kept.items():
        if parametrize.is_parametrized(each):
            raise ValueError(
                f"{_called(name, each)} is parametrised: remove its parametrisations, or skip it"
            )
        if type(each) in (nn.Linear, LowRankLinear):
            if twin := next((other for other, layer in found.items() if layer is each), None):
                raise ValueError(
                    f"{name!r} and {twin!r} are one layer that is used twice: weights of layers must be independent"
                )
            found[name] = each
        elif any(value is not None for value in each._parameters.values()):
            raise ValueError(
                f"{_called(name, each)} has parameters and is neither nn.Linear nor LowRankLinear: the edge of chaos "
                f"of feed-forward networks says nothing of it. Initialise it yourself and name it in skip=[{name!r}]"
            )
        elif isinstance(each, ALTERING) and not _idle(each):
            raise ValueError(
                f"{_called(name, each)} changes the lengths of signals, which the maps do not know: remove it, or name "
                f"it in skip=[{name!r}] to start as if it were not there"
            )
        elif isinstance(each, ENTRYWISE):
            _check_activation(name, each, phi)
    if not found:
        raise ValueError(f"{type(module).__name__} has no linear layer to initialise")
    numbers = {
        f"{name}.{kind}".lstrip("."): p
        for name, each in found.items()
        for kind, p in each._parameters.items()
    }
    if tied := sharing_memory({name: value for name, value in numbers.items() if value is not None}):
        raise ValueError(
            f"{' and '.join(tied[0])} lie in the same memory: weights of layers must be independent. Untie "
            f"them, or skip one "
            "of the layers"
        )
    return found


def _within(name: str, skip: Collection[str]) -> bool:
    return any(name == other or other == "" or name.startswith(f"{other}.") for other in skip)


def _called(name: str, module: nn.Module) -> str:
    return f"{name!r}, a {type(module).__name__}," if name else f"the {type(module).__name__}"


def _idle(module: nn.Module) -> bool:
    """Whether it is dropout that drops nothing."""
    return isinstance(module, nn.modules.dropout._DropoutNd) and module.p == 0


def _check_activation(name: str, module: nn.Module, phi: Activation) -> None:
    with torch.no_grad():
        found = module(torch.tensor(PROBE)).numpy()
    if not np.allclose(found, phi(PROBE), rtol=1e-6, atol=1e-6):
        raise ValueError(
            f"{_called(name, module)} is not the activation {phi.name}: the edge of chaos is one of a single activation"
        )


def _planned(
    layer: nn.Linear | LowRankLinear,
    phi: Activation,
    q_star: float | None,
    sigma_b2: float | None,
    gamma: float | None,
) -> LayerOnEdge:
    """Rank and variances of a layer, with the ratio that its rank really has."""
    outputs = layer.out_features
    if isinstance(layer, LowRankLinear):
        rank = layer.rank
    else:
        rank = outputs if gamma is None else rank_of(outputs, None, gamma)
    ratio = rank / outputs
    if q_star is not None:
        variance, bias = (float(x) for x in from_fixed_point(q_star, ratio, phi))
        return LayerOnEdge(rank, ratio, variance, bias, float(q_star))
    bias = 0.0 if sigma_b2 is None else variance_of(sigma_b2, "sigma_b2")
    point = edge_of_chaos(bias, ratio, phi)
    if not math.isfinite(float(point.sigma_alpha2)):
        raise ValueError(
            f"networks with {phi.name} are on the edge of chaos for no variance of the weights if sigma_b2 = {bias:g}: "
            "give another one, or the length q_star"
        )
    return LayerOnEdge(rank, ratio, float(point.sigma_alpha2), bias, float(point.q_star))


def _check(
    name: str, layer: nn.Linear | LowRankLinear, plan: LayerOnEdge, phi: Activation, ensemble: str
) -> None:
    """Raises ValueError and TypeError where a layer cannot be drawn as planned."""
    called = _called(name, layer)
    expected = ("coefficients", "bias") if isinstance(layer, LowRankLinear) else ("weight", "bias")
    for kind in expected:
        value = layer._parameters.get(kind)
        if value is None:
            if kind != "bias" or getattr(layer, "bias", None) is not None:
                raise ValueError(
                    f"{called} has no parameter {kind}, as after pruning: make it plain, or skip it"
                )
            continue
        if is_lazy(value) or value.is_meta:
            raise ValueError(f"{called} holds no numbers yet: move it to a device with to_empty first")
        if value.dtype not in DRAWN:
            raise TypeError(f"{called} holds {value.dtype}, not real floating-point numbers")
        if not value.requires_grad:
            raise ValueError(f"the {kind} of {called} is frozen: unfreeze it, or skip it")
    if plan.sigma_b2 > 0 and layer.bias is None:
        raise ValueError(
            f"{called} has no bias, but on the edge of chaos with q* = {plan.q_star:g} its variance is "
            f"{plan.sigma_b2:g}: make the layer with bias=True, or ask for sigma_b2=0"
        )
    if ensemble == "orthogonal" and plan.rank > layer.in_features:
        raise ValueError(
            f"{called} has {layer.in_features} inputs and rank {plan.rank}: orthogonal weights have no more columns "
            'than inputs. Skip it, or take ensemble="gaussian"'
        )


def _draw(
    layer: nn.Linear | LowRankLinear,
    plan: LayerOnEdge,
    ensemble: str,
    shared_bias: bool,
    low_rank: bool,
    generator: torch.Generator | None,
) -> None:
    """Fill one layer."""
    if isinstance(layer, LowRankLinear):
        layer.reset_parameters(plan.sigma_alpha2, plan.sigma_b2, shared_bias=shared_bias, generator=generator)
        if ensemble == "orthogonal":
            _orthonormal_rows(layer.coefficients, plan.sigma_alpha2, generator)
        return
    weight, bias = layer.weight, layer.bias
    with torch.no_grad():
        drawn = None
        if bias is not None:
            count = 1 if shared_bias else plan.rank
            drawn = normal((count,), weight, generator).expand(plan.rank) * math.sqrt(plan.sigma_b2)
        if not low_rank and ensemble == "gaussian":
            scale = math.sqrt(plan.sigma_alpha2 / layer.in_features)
            weight.copy_(normal(tuple(weight.shape), weight, generator) * scale)
        elif not low_rank:
            low_rank_orthogonal_(weight, plan.rank, sigma_alpha2=plan.sigma_alpha2, generator=generator)
        else:
            basis = orthonormal_columns(layer.out_features, plan.rank, like=weight, generator=generator)
            coefficients = torch.empty(plan.rank, layer.in_features, dtype=basis.dtype, device=basis.device)
            if ensemble == "orthogonal":
                _orthonormal_rows(coefficients, plan.sigma_alpha2, generator)
            else:
                scale = math.sqrt(plan.sigma_alpha2 / layer.in_features)
                coefficients = normal((plan.rank, layer.in_features), weight, generator) * scale
            weight.copy_(basis @ coefficients)
            drawn = drawn if drawn is None else basis @ drawn
        if drawn is not None:
            bias.copy_(drawn)


def _orthonormal_rows(
    coefficients: torch.Tensor, sigma_alpha2: float, generator: torch.Generator | None
) -> None:
    """Fill coefficients (r, N_in) with σ_α times orthonormal rows."""
    rank, inputs = coefficients.shape
    columns = orthonormal_columns(inputs, rank, like=coefficients, generator=generator)
    with torch.no_grad():
        coefficients.copy_(columns.mT * math.sqrt(sigma_alpha2))


__all__ = ["LayerOnEdge", "edge_of_chaos_"]
