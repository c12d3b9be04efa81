<?php

declare(strict_types=1);

use App\Http\Controllers\HelloController;
use App\Http\Controllers\SequenceController;
use Illuminate\Support\Facades\Route;

// An integer from 0 to 10,000: anything else does not match the route, so it is a 404.
Route::pattern('n', '10000|[0-9]{1,4}');

Route::get('/test', HelloController::class);
Route::get('/count/{n}', [SequenceController::class, 'count']);
Route::get('/fib/{n}', [SequenceController::class, 'fib']);
