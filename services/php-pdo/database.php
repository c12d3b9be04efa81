<?php

declare(strict_types=1);

/** The connection of this process, which outlives the request. */
function database(): PDO
{
    static $database = null;
    if ($database === null) {
        // PDO looks whether a connection still stands when it hands it out. One that PostgreSQL has ended still holds a last
        // message at the first look, and is replaced at the second.
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
        // A statement goes with its parameters in one message: prepared, it would not outlive the request.
        [PDO::ATTR_PERSISTENT => true, PDO::PGSQL_ATTR_DISABLE_PREPARES => true],
    );
}

function query(string $sql, array $values = []): PDOStatement
{
    $statement = database()->prepare($sql);
    $statement->execute($values);
    return $statement;
}

/** What $work returns; nothing is changed if it throws. */
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
