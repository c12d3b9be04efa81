package service

import java.math.BigInteger

/** 1 to n. */
fun count(n: Int): Sequence<Number> = (1..n).asSequence()

/** F(0) to F(n). */
fun fib(n: Int): Sequence<Number> =
    generateSequence(BigInteger.ZERO to BigInteger.ONE) { (a, b) -> b to a + b }.map { it.first }.take(n + 1)
