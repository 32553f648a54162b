"""Low-rank weights with an orthonormal basis: initialisers in the manner of torch.nn.init (Nait Saada, Tanner 2023).

    W = CA,      C (N_out, r) with orthonormal columns from the uniform law,  A_kj ~ N(0, σ_α²/N_in)      (Eq. 2)
    W = σ_α QRᵀ, Q (N_out, r) and R (N_in, r) with orthonormal columns                                    (Sec. 3.2)

Of both the mean square of an entry is γσ_α²/N_in, with the rank ratio γ = r/N_out. So a layer multiplies the mean
square of its inputs by γσ_α², and a linear network keeps its lengths at σ_α² = 1/γ.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

import torch

# What weights may be kept in, and in which precision they are drawn.
DRAWN = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
}


def low_rank_gaussian_(
    tensor: torch.Tensor,
    rank: int | None = None,
    *,
    gamma: float | None = None,
    sigma_alpha2: float = 1.0,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Fill a weight (N_out, N_in) with W = CA: r orthonormal columns in uniformly random directions, and coefficients
    A_kj ~ N(0, σ_α²/N_in).

    Whatever the draw, the columns of W lie in a space of r dimensions, and WᵀW = AᵀA; its rank is min(r, N_in) almost
    surely. The mean of |W|² is rσ_α².

    Args:
        tensor: weight of float16, bfloat16, float32 or float64, on any device; changed in place, whether or not it
            requires a gradient. On the meta device nothing is drawn. Short floats are drawn in float32 and rounded:
            their columns span r dimensions to that rounding alone.
        rank: number r of columns, 1 to N_out.
        gamma: instead of `rank`, the ratio γ in (0, 1]: r is the whole number nearest to γN_out.
        sigma_alpha2: the variance σ_α², zero or positive.
        generator: where the numbers come from; the global random state, if left out, which is otherwise untouched.

    Returns:
        The tensor.

    Raises:
        ValueError: neither or both of rank and gamma, or one of them, or the variance, out of its range; a tensor that
            is no matrix.
        TypeError: a tensor of another kind of numbers; a rank that is no whole number; another kind of generator.

    Source: naitsaada2023, Eq. (2), low-rank-weight.

    >>> W = low_rank_gaussian_(torch.empty(8, 6), 2, generator=torch.Generator().manual_seed(0))
    >>> int(torch.linalg.matrix_rank(W))
    2
    """
    check_weight(tensor)
    rank = rank_of(tensor.shape[0], rank, gamma)
    variance = variance_of(sigma_alpha2)
    check_generator(generator)
    if tensor.is_meta:
        return tensor
    basis = orthonormal_columns(tensor.shape[0], rank, like=tensor, generator=generator)
    A = normal((rank, tensor.shape[1]), tensor, generator) * math.sqrt(variance / tensor.shape[1])
    with torch.no_grad():
        return tensor.copy_(basis @ A)


def low_rank_orthogonal_(
    tensor: torch.Tensor,
    rank: int | None = None,
    *,
    gamma: float | None = None,
    sigma_alpha2: float = 1.0,
    first_inputs: bool = False,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Fill a weight (N_out, N_in) with W = σ_α QRᵀ: r singular values σ_α, and orthonormal columns in uniformly random
    directions on either side.

    Whatever the draw, W has the singular values σ_α, r times, and 0. With ``first_inputs`` it is (σ_α Q, 0): the
    weights of Sec. 3.2, which see the first r inputs alone. What is printed of their Jacobian holds for random
    directions, and for these in linear networks (`derivations.random_matrices.truncated_second_moment`).

    Args:
        tensor, gamma, sigma_alpha2, generator: as for `low_rank_gaussian_`.
        rank: number r of columns, 1 to min(N_out, N_in).
        first_inputs: whether R is the first r columns of the identity.

    Returns:
        The tensor.

    Raises:
        ValueError, TypeError: as `low_rank_gaussian_`; and for more columns than the weight has inputs.

    Source: naitsaada2023, Sec. 3.2, orthogonal-weight-def.

    >>> W = low_rank_orthogonal_(torch.empty(4, 4, dtype=torch.float64), gamma=0.5, sigma_alpha2=9.0)
    >>> torch.linalg.svdvals(W).round(decimals=9).tolist()
    [3.0, 3.0, 0.0, 0.0]
    """
    check_weight(tensor)
    rank = rank_of(tensor.shape[0], rank, gamma)
    variance = variance_of(sigma_alpha2)
    check_generator(generator)
    if rank > tensor.shape[1]:
        raise ValueError(
            f"orthonormal rows need a rank of at most the number of inputs: {rank} columns for a weight of shape "
            f"{tuple(tensor.shape)}"
        )
    if tensor.is_meta:
        return tensor
    found = orthonormal_columns(tensor.shape[0], rank, like=tensor, generator=generator) * math.sqrt(variance)
    if first_inputs:
        found = torch.nn.functional.pad(found, (0, tensor.shape[1] - rank))
    else:
        found = found @ orthonormal_columns(tensor.shape[1], rank, like=tensor, generator=generator).mT
    with torch.no_grad():
        return tensor.copy_(found)


def orthonormal_columns(
    size: int,
    rank: int,
    *,
    like: torch.Tensor,
    generator: torch.Generator | None = None,
    batch: tuple[int, ...] = (),
) -> torch.Tensor:
    """Matrices (*batch, size, rank) with orthonormal columns from the uniform (Haar) law, on the device of ``like``.

    Each is the Q of a normal matrix = QR with a positive diagonal of R, in float64 for float64, in float32 otherwise.
    """
    Q, R = torch.linalg.qr(normal((*batch, size, rank), like, generator))
    signs = torch.sign(torch.diagonal(R, dim1=-2, dim2=-1))
    return Q * torch.where(signs == 0, torch.ones_like(signs), signs)[..., None, :]


def normal(
    shape: tuple[int, ...], like: torch.Tensor, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Independent N(0, 1) numbers on the device of ``like``, in the precision in which its dtype is drawn."""
    return torch.randn(shape, dtype=DRAWN[like.dtype], device=like.device, generator=generator)


def check_weight(tensor: torch.Tensor) -> None:
    """Raises TypeError and ValueError for what is no matrix of real floating-point numbers."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"the weight is a torch tensor, not a {type(tensor).__name__}")
    if tensor.dtype not in DRAWN:
        kinds = ", ".join(str(dtype).removeprefix("torch.") for dtype in DRAWN)
        raise TypeError(f"the weight holds {tensor.dtype}; low-rank weights are drawn for {kinds}")
    if tensor.ndim != 2 or 0 in tensor.shape:
        raise ValueError(
            f"the weight must be a matrix (N_out, N_in): its shape is {tuple(tensor.shape)}. Of a convolution or a "
            "stack of layers, fill one matrix at a time"
        )


def rank_of(N_out: int, rank: int | None, gamma: float | None) -> int:
    """The number of columns of a weight with N_out outputs, given or as a ratio γ. Raises ValueError and TypeError."""
    if (rank is None) == (gamma is None):
        raise ValueError("give either the rank or the ratio gamma of rank to width")
    if gamma is not None:
        check_gamma(gamma)
        rank = math.floor(gamma * N_out + 0.5)
        if rank == 0:
            raise ValueError(
                f"gamma = {gamma} of {N_out} outputs is less than half a column: take a larger gamma, or rank=1"
            )
        return rank
    if isinstance(rank, bool) or not isinstance(rank, Integral):
        raise TypeError(
            f"the rank is a whole number, not {rank!r}; a ratio of rank to width is given as gamma"
        )
    if not 1 <= rank <= N_out:
        raise ValueError(
            f"rank = {rank} is out of range: {N_out} outputs have 1 to {N_out} orthonormal columns"
        )
    return int(rank)


def check_gamma(gamma: float) -> None:
    """Raises TypeError and ValueError for what is no ratio of rank to width."""
    if isinstance(gamma, bool) or not isinstance(gamma, Real):
        raise TypeError(f"gamma is a number in (0, 1], not {gamma!r}")
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma = {gamma} is not in (0, 1], as a ratio of rank to width is")


def variance_of(value: float, name: str = "sigma_alpha2") -> float:
    """A variance as a number, zero or positive. Raises TypeError and ValueError."""
    if isinstance(value, bool):
        raise TypeError(f"{name} is a variance, a number, not {value!r}")
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is a variance, a number, not {value!r}") from None
    if not 0 <= found < math.inf:
        raise ValueError(f"{name} = {value} is not a variance, zero or positive and finite")
    return found


def check_generator(generator: torch.Generator | None) -> None:
    """Raises TypeError for what is no generator of torch."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(f"generator is a torch.Generator, not a {type(generator).__name__}")
