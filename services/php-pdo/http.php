<?php

declare(strict_types=1);

/** Answers the request with this status and nothing more. */
final class Refusal extends Exception
{
    public function __construct(int $status)
    {
        parent::__construct('', $status);
    }
}

function json(array $value, int $status = 200): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
}

/** The JSON object of the request. */
function body(): stdClass
{
    $body = json_decode(file_get_contents('php://input'));
    return $body instanceof stdClass ? $body : throw new Refusal(400);
}

/** A parameter from $least to $most. */
function parameter(string $name, int $least, int $most = PHP_INT_MAX, ?int $default = null): int
{
    $options = ['min_range' => $least, 'max_range' => $most];
    $number = filter_input(INPUT_GET, $name, FILTER_VALIDATE_INT, ['options' => $options]) ?? $default;
    return is_int($number) ? $number : throw new Refusal(400);
}
