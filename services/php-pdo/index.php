<?php

declare(strict_types=1);

require 'database.php';
require 'http.php';

/** The function that answers the request. */
function route(string $method, string $path): Closure
{
    if ($path === '/fortunes') {
        require 'fortunes.php';
        return match ($method) {
            'GET' => fortunes(...),
            default => throw new Refusal(405),
        };
    }
    if ($path === '/orders') {
        require 'orders.php';
        return match ($method) {
            'GET' => list_orders(...),
            'POST' => create_order(...),
            default => throw new Refusal(405),
        };
    }
    if (preg_match('{^/orders/([0-9]{1,18})$}D', $path, $match)) {
        require 'orders.php';
        $id = (int) $match[1];
        return match ($method) {
            'GET' => fn () => get_order($id),
            'PATCH' => fn () => set_status($id),
            'DELETE' => fn () => delete_order($id),
            default => throw new Refusal(405),
        };
    }
    throw new Refusal(404);
}

try {
    $method = $_SERVER['REQUEST_METHOD'] === 'HEAD' ? 'GET' : $_SERVER['REQUEST_METHOD'];
    route($method, rawurldecode(explode('?', $_SERVER['REQUEST_URI'], 2)[0]))();
} catch (Refusal $refusal) {
    http_response_code($refusal->getCode());
} catch (PDOException) {
    // The database is away; the next request of this process connects anew.
    http_response_code(503);
}
