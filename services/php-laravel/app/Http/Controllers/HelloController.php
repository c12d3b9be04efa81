<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\Response;
use Illuminate\Routing\Controller;

class HelloController extends Controller
{
    public function __invoke(): Response
    {
        return response('Hello, World!')->header('Content-Type', 'text/plain');
    }
}
