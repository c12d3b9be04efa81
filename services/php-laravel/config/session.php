<?php

declare(strict_types=1);

// The routes of an API start no session, but a response needs to know where one would be.
return [
    'driver' => 'file',
    'files' => storage_path('framework/sessions'),
    'lifetime' => 120,
    'cookie' => 'service_session',
];
