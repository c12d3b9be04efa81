<?php

declare(strict_types=1);

/** Hashes a body in pieces. nginx rejects bodies over 20 MiB. */
function upload(): void
{
    $body = fopen('php://input', 'rb');
    $hash = hash_init('sha256');
    $bytes = hash_update_stream($hash, $body);
    json(['bytes' => $bytes, 'sha256' => hash_final($hash)]);
}
