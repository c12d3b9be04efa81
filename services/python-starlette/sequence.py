"""Integers and Fibonacci numbers, as text."""

import re
from collections.abc import Iterator


def parse(text: str) -> int | None:
    """An integer from 0 to 10,000."""
    return int(text) if re.fullmatch("10000|[0-9]{1,4}", text) else None


def count(n: int) -> str:
    return " ".join(map(str, range(1, n + 1)))


def fib(n: int) -> str:
    return " ".join(map(str, fibonacci(n)))


def fibonacci(n: int) -> Iterator[int]:
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b
