# hello and sequence on Mojolicious.
use Mojolicious::Lite -signatures;
use Math::BigInt;
use Mojo::Server::Prefork;
use Mojo::IOLoop;

# No line per request.
app->mode('production')->log->level('fatal');

get '/api/test' => sub ($c) { text($c, 'Hello, World!') };
get '/api/count/:n' => [n => qr/10000|[0-9]{1,4}/] => sub ($c) { text($c, join ' ', 1 .. $c->param('n')) };
get '/api/fib/:n' => [n => qr/10000|[0-9]{1,4}/] => sub ($c) { text($c, join ' ', fibonacci($c->param('n'))) };

sub text ($c, $body) { $c->render(text => $body, format => 'txt') }

# F(0) to F(n).
sub fibonacci ($n) {
    my ($x, $y) = (Math::BigInt->bzero, Math::BigInt->bone);
    my @numbers;
    for (0 .. $n) {
        push @numbers, $x->bstr;
        ($x, $y) = ($y, $x + $y);
    }
    return @numbers;
}

my $server = Mojo::Server::Prefork->new(
    app => app,
    listen => ['http://' . ($ENV{HOST} // '127.0.0.1') . ':' . ($ENV{PORT} // 8080)],
    # Hundreds of connections may come at once.
    backlog => 4096,
    # By default a connection is closed after 100 requests, and a worker ends after 10000 connections.
    max_requests => 1_000_000_000,
    accepts => 0,
    pid_file => "$ENV{PWD}/server.pid",
    graceful_timeout => 5,
);
$server->workers($ENV{WORKERS}) if $ENV{WORKERS};
$server->run;
