<?php

declare(strict_types=1);

const ADJECTIVES = ['amber', 'brisk', 'calm', 'dusty', 'eager', 'faint', 'gentle', 'hollow', 'ivory', 'jolly', 'keen', 'lively',
    'mellow', 'noble', 'olive', 'plain'];
const NOUNS = ['anchor', 'basket', 'candle', 'drum', 'easel', 'flask', 'globe', 'hammer', 'inkwell', 'jar', 'kettle', 'lantern',
    'mirror', 'needle', 'oar', 'pillow'];
const TAGS = ['attic', 'bath', 'cellar', 'desk', 'entry', 'fire', 'garden', 'hall', 'indoor', 'junior', 'kitchen', 'lamp',
    'modern', 'night', 'office', 'patio', 'quiet', 'rustic', 'shelf', 'travel'];
const MATERIALS = ['ash', 'brass', 'clay', 'cork', 'cotton', 'felt', 'glass', 'iron', 'jute', 'leather', 'linen', 'marble',
    'oak', 'paper', 'steel', 'wool'];
const CITIES = ['Århus', 'Bern', 'Córdoba', 'Dublin', 'Évora', 'Fès', 'Gdańsk', 'Helsinki', 'Iași', 'Jerez', 'Kraków', 'Łódź',
    'München', 'Nîmes', '大阪', 'Zürich'];

/** A shop's items, each computed from its number. nginx compresses them. */
function catalog(): void
{
    $from = number('from', 1_000_000);
    $count = number('count', 500);
    if ($from === null || $count === null) {
        http_response_code(400);
    } else {
        json(['items' => array_map(item(...), range($from, $from + $count - 1))]);
    }
}

/** A parameter from 1 to $most, or null. */
function number(string $name, int $most): ?int
{
    $number = filter_input(INPUT_GET, $name, FILTER_VALIDATE_INT, ['options' => ['min_range' => 1, 'max_range' => $most]]);
    return is_int($number) ? $number : null;
}

function item(int $i): array
{
    $name = ADJECTIVES[$i % 16] . ' ' . NOUNS[intdiv($i, 16) % 16];
    return [
        'id' => $i,
        'name' => "$name $i",
        'price' => $i * 37 % 9900 + 100,
        'tags' => [TAGS[$i % 20], TAGS[($i + 7) % 20], TAGS[($i + 13) % 20]],
        'description' => "The $name no. $i is made of " . MATERIALS[$i * 7 % 16] . ', weighs ' . ($i * 53 % 4900 + 100)
            . ' g and ships from ' . CITIES[$i * 11 % 16] . ' within ' . ($i % 7 + 1)
            . ' days. Customers who bought it also bought the "' . ADJECTIVES[($i + 5) % 16] . ' ' . NOUNS[($i + 3) % 16]
            . '" & rate it <' . ($i % 5 + 1) . ' of 5>.',
    ];
}
