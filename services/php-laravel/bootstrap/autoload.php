<?php

declare(strict_types=1);

// Debian's packages of Laravel load themselves; App is the folder `app`.
require_once 'Illuminate/autoload.php';

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'App\\')) {
        require dirname(__DIR__) . '/app/' . str_replace('\\', '/', substr($class, 4)) . '.php';
    }
});
