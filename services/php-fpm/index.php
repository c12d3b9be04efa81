<?php

declare(strict_types=1);

/** The integers from 1 to n, joined with one space. */
function count_to(int $n): string
{
    return $n === 0 ? '' : implode(' ', range(1, $n));
}

/** F(0) to F(n), joined with one space. */
function fibonacci(int $n): string
{
    $numbers = [];
    [$a, $b] = [gmp_init(0), gmp_init(1)];
    for ($i = 0; $i <= $n; $i++) {
        $numbers[] = gmp_strval($a);
        [$a, $b] = [$b, $a + $b];
    }
    return implode(' ', $numbers);
}

/** The function that answers a GET of the path, or null. */
function route(string $path): ?Closure
{
    if ($path === '/api/test') {
        return fn () => 'Hello, World!';
    }
    if (preg_match('{^/api/(count|fib)/(10000|[0-9]{1,4})$}D', $path, $match)) {
        $numbers = $match[1] === 'count' ? count_to(...) : fibonacci(...);
        return fn () => $numbers((int) $match[2]);
    }
    return null;
}

$answer = route(rawurldecode(explode('?', $_SERVER['REQUEST_URI'], 2)[0]));
if ($answer === null) {
    http_response_code(404);
} elseif (!in_array($_SERVER['REQUEST_METHOD'], ['GET', 'HEAD'], true)) {
    http_response_code(405);
} else {
    header('Content-Type: text/plain');
    echo $answer();
}
