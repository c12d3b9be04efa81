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

/** The method of the path and the function that answers it, or null. */
function route(string $path): ?array
{
    switch ($path) {
        case '/api/test':
            return ['GET', fn () => text('Hello, World!')];
        case '/catalog':
            require 'catalog.php';
            return ['GET', catalog(...)];
        case '/upload':
            require 'upload.php';
            return ['POST', upload(...)];
    }
    if (preg_match('{^/api/(count|fib)/(10000|[0-9]{1,4})$}D', $path, $match)) {
        $numbers = $match[1] === 'count' ? count_to(...) : fibonacci(...);
        return ['GET', fn () => text($numbers((int) $match[2]))];
    }
    return null;
}

function text(string $body): void
{
    header('Content-Type: text/plain');
    echo $body;
}

function json(array $value): void
{
    header('Content-Type: application/json');
    echo json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
}

[$method, $answer] = route(rawurldecode(explode('?', $_SERVER['REQUEST_URI'], 2)[0])) ?? [null, null];
if ($answer === null) {
    http_response_code(404);
} elseif ($_SERVER['REQUEST_METHOD'] !== $method && [$_SERVER['REQUEST_METHOD'], $method] !== ['HEAD', 'GET']) {
    http_response_code(405);
} else {
    $answer();
}
