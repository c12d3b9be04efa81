package service;

import java.math.BigInteger;

/** The numbers of the sequence contract, joined with one space. */
final class Sequence {
    private Sequence() {}

    /** 1 to n. */
    static String count(int n) {
        StringBuilder text = new StringBuilder();
        for (int i = 1; i <= n; i++) {
            text.append(i > 1 ? " " : "").append(i);
        }
        return text.toString();
    }

    /** F(0) to F(n). */
    static String fib(int n) {
        StringBuilder text = new StringBuilder("0");
        BigInteger a = BigInteger.ZERO;
        BigInteger b = BigInteger.ONE;
        for (int i = 1; i <= n; i++) {
            text.append(' ').append(b);
            BigInteger next = a.add(b);
            a = b;
            b = next;
        }
        return text.toString();
    }
}
