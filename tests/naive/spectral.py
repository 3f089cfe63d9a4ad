"""The spectral start, as loops.

Y. Zhang, X. Chen, D. Zhou and M. I. Jordan, "Spectral Methods Meet EM" (2014), Algorithm 1, with
groups summed, moments made symmetric, columns matched by trying every way, and a worker solved
against both of the other groups. Whitening is by Cholesky: any will do, for eigenvectors turn with
it. So will any random vectors, if there are enough of them to find the largest eigenvalue.
"""

from __future__ import annotations

import itertools
import math
import random

from tests.naive.dawid_skene import Matrix
from tests.naive.majority import Votes

Vector = list[float]
Tensor = list[Matrix]


def spectral_start(
    votes: Votes, n_workers: int, n_classes: int, floor: float = 1e-6
) -> list[Matrix] | None:
    """``[worker][truth][label]``; None where the moments have no such decomposition."""
    classes = range(n_classes)
    heard = [said for said in votes if said]
    share = 1 / len(heard)

    pair = {(g, h): zeros(n_classes) for g in range(3) for h in range(3)}
    triple = [zeros(n_classes) for _ in classes]
    met = {(worker, g): zeros(n_classes) for worker in range(n_workers) for g in range(3)}
    for said in heard:
        z = [[0.0] * n_classes for _ in range(3)]  # Eq. 1, as sums
        for worker, label in said:
            z[worker % 3][label] += 1
        for i, j in itertools.product(classes, classes):
            for g, h in pair:
                pair[g, h][i][j] += share * z[g][i] * z[h][j]
            for m in classes:
                triple[i][j][m] += share * z[0][i] * z[1][j] * z[2][m]
        for worker, label in said:
            for g, j in itertools.product(range(3), classes):
                met[worker, g][label][j] += share * z[g][j]

    columns: list[Matrix] = []
    shares = [0.0] * n_classes
    try:
        for a, b, c in ((1, 2, 0), (2, 0, 1), (0, 1, 2)):
            from_a = product(pair[c, b], inverse(pair[a, b]))  # Eq. 2a
            from_b = product(pair[c, a], inverse(pair[b, a]))  # Eq. 2b
            m2 = product(product(from_a, pair[a, b]), transpose(from_b))  # Eq. 2c
            m2 = [[(m2[i][j] + m2[j][i]) / 2 for j in classes] for i in classes]
            m3 = [zeros(n_classes) for _ in classes]
            for at in itertools.product(classes, classes, classes):
                count = triple[at[0]][at[1]][at[2]]
                for i, j in itertools.product(classes, classes):
                    m3[i][j][at[c]] += count * from_a[i][at[a]] * from_b[j][at[b]]  # Eq. 2d
            lower = cholesky(m2)
            whiten = transpose(inverse(lower))
            pairs = eigenpairs(symmetric(transformed(m3, whiten)))
            mu = [[value * dot(row, v) for row in lower] for value, v in pairs]
            best = max(
                itertools.permutations(classes),
                key=lambda order: sum(mu[order[i]][i] for i in classes),
            )
            columns.append(transpose([mu[h] for h in best]))
            for truth, h in enumerate(best):
                shares[truth] += pairs[h][0] ** -2 / 3
        against = [
            inverse([[shares[t] * c[i][t] for i in classes] for t in classes]) for c in columns
        ]
    except ArithmeticError:
        return None

    start = []
    for worker in range(n_workers):
        others = [g for g in range(3) if g != worker % 3]
        solved = [product(met[worker, g], against[g]) for g in others]  # Eq. 3
        matrix = []
        for truth in classes:
            row = [max((solved[0][i][truth] + solved[1][i][truth]) / 2, floor) for i in classes]
            matrix.append([value / sum(row) for value in row])
        start.append(matrix)
    return start


def eigenpairs(tensor: Tensor) -> list[tuple[float, Vector]]:
    """The robust tensor power method, with deflation."""
    classes = range(len(tensor))
    lots = random.Random(0)
    pairs = []
    for _ in classes:
        tries = []
        for _ in range(20):
            vector = iterated(tensor, [lots.gauss(0, 1) for _ in classes], 30)
            tries.append((dot(applied(tensor, vector), vector), vector))
        vector = iterated(tensor, max(tries)[1], 200)
        value = dot(applied(tensor, vector), vector)
        pairs.append((value, vector))
        tensor = [
            [
                [tensor[i][j][m] - value * vector[i] * vector[j] * vector[m] for m in classes]
                for j in classes
            ]
            for i in classes
        ]
    return pairs


def iterated(tensor: Tensor, vector: Vector, times: int) -> Vector:
    for _ in range(times):
        vector = applied(tensor, vector)
        length = math.sqrt(dot(vector, vector))
        vector = [value / length for value in vector]
    return vector


def applied(tensor: Tensor, vector: Vector) -> Vector:
    return [dot([dot(row, vector) for row in matrix], vector) for matrix in tensor]


def transformed(tensor: Tensor, q: Matrix) -> Tensor:
    """``tensor(q, q, q)``, one side after the other."""
    classes = range(len(q))
    for _ in range(3):  # the last side becomes the first
        tensor = [
            [[dot(tensor[i][j], [row[m] for row in q]) for j in classes] for i in classes]
            for m in classes
        ]
    return tensor


def symmetric(tensor: Tensor) -> Tensor:
    classes = range(len(tensor))

    def mean(*at: int) -> float:
        return sum(tensor[i][j][m] for i, j, m in itertools.permutations(at)) / 6

    return [[[mean(i, j, m) for m in classes] for j in classes] for i in classes]


def cholesky(matrix: Matrix) -> Matrix:
    n = len(matrix)
    lower = zeros(n)
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(lower[i][m] * lower[j][m] for m in range(j))
            if i > j:
                lower[i][j] = rest / lower[j][j]
            elif rest > 1e-9:
                lower[i][i] = math.sqrt(rest)
            else:
                raise ArithmeticError("not positive")
    return lower


def inverse(matrix: Matrix) -> Matrix:
    """By Gauss and Jordan."""
    n = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-9:
            raise ArithmeticError("singular")
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [v - rows[r][i] * w for v, w in zip(rows[r], rows[i], strict=True)]
    return [row[n:] for row in rows]


def product(left: Matrix, right: Matrix) -> Matrix:
    return [[dot(row, column) for column in zip(*right, strict=True)] for row in left]


def transpose(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def dot(one: Vector, other: Vector) -> float:
    return sum(v * w for v, w in zip(one, other, strict=True))


def zeros(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]
