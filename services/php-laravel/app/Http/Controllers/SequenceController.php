<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\Response;
use Illuminate\Routing\Controller;

class SequenceController extends Controller
{
    /** The integers from 1 to n, joined with one space. */
    public function count(string $n): Response
    {
        return $this->text((int) $n === 0 ? [] : range(1, (int) $n));
    }

    /** F(0) to F(n), joined with one space. */
    public function fib(string $n): Response
    {
        $numbers = [];
        [$a, $b] = [gmp_init(0), gmp_init(1)];
        for ($i = 0; $i <= (int) $n; $i++) {
            $numbers[] = gmp_strval($a);
            [$a, $b] = [$b, $a + $b];
        }
        return $this->text($numbers);
    }

    private function text(array $numbers): Response
    {
        return response(implode(' ', $numbers))->header('Content-Type', 'text/plain');
    }
}
