<?php

declare(strict_types=1);

/** A page with a table, made by PHP as a template. */
function fortunes(): void
{
    $nonce = filter_input(INPUT_GET, 'nonce') ?? throw new Refusal(400);
    $fortunes = query('select id, message from fortune')->fetchAll(PDO::FETCH_KEY_PAIR);
    $fortunes[0] = "Additional fortune: $nonce";
    // By bytes, which is the order of code points in UTF-8.
    asort($fortunes, SORT_STRING);
    header('Content-Type: text/html; charset=utf-8');
    require 'fortunes.phtml';
}
