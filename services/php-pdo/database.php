<?php

declare(strict_types=1);

/** The connection of this process, which outlives the request. */
function database(): PDO
{
    static $database = null;
    if ($database === null) {
        // PDO checks a persistent connection when it returns it. After PostgreSQL has closed it, the first check still reads a last
        // message, and only the second check replaces it.
        connection();
        $database = connection();
    }
    return $database;
}

function connection(): PDO
{
    $url = parse_url(getenv('DATABASE_URL'));
    return new PDO(
        sprintf('pgsql:host=%s;port=%d;dbname=%s', $url['host'], $url['port'], ltrim($url['path'], '/')),
        $url['user'],
        $url['pass'],
        // Sends statement and parameters in one message: a prepared statement would not outlive the request.
        [PDO::ATTR_PERSISTENT => true, PDO::PGSQL_ATTR_DISABLE_PREPARES => true],
    );
}

function query(string $sql, array $values = []): PDOStatement
{
    $statement = database()->prepare($sql);
    $statement->execute($values);
    return $statement;
}

/** Returns the result of $work; rolls back if it throws. */
function transaction(Closure $work): mixed
{
    database()->beginTransaction();
    try {
        $result = $work();
        database()->commit();
        return $result;
    } catch (Refusal $refusal) {
        database()->rollBack();
        throw $refusal;
    }
}
