// hello and sequence as a minimal API of ASP.NET Core.
using System.Net;

var builder = WebApplication.CreateBuilder(args);
// No log line per request.
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.Services.Configure<HostOptions>(options => options.ShutdownTimeout = TimeSpan.FromSeconds(5));
builder.WebHost.ConfigureKestrel(options =>
{
    options.Listen(IPAddress.Parse(Variable("HOST", "127.0.0.1")), int.Parse(Variable("PORT", "8080")));
    // The default, 100, has no room for Host in addition to 100 headers.
    options.Limits.MaxRequestHeaderCount = 200;
});
builder.WebHost.UseSockets(options =>
    options.IOQueueCount = int.Parse(Variable("WORKERS", Environment.ProcessorCount.ToString())));

var app = builder.Build();

// Routes ignore the case of a path. Those of the contracts are in lower case.
app.Use((context, next) =>
{
    if (!context.Request.Path.Value!.Any(char.IsUpper)) return next(context);
    context.Response.StatusCode = StatusCodes.Status404NotFound;
    return Task.CompletedTask;
});
app.MapGet("/api/test", () => "Hello, World!");
app.MapGet("/api/count/{n}", (string n) => Numbers(n, Service.Sequence.Count));
app.MapGet("/api/fib/{n}", (string n) => Numbers(n, Service.Sequence.Fib));

app.Run();

// What `compute` makes of n, or 400 for what is not an integer from 0 to 10,000.
static IResult Numbers(string text, Func<int, string> compute) =>
    text.Length <= 5 && text.All(char.IsAsciiDigit) && int.TryParse(text, out var n) && n <= 10_000
        ? Results.Text(compute(n))
        : Results.BadRequest("n must be an integer from 0 to 10000");

static string Variable(string name, string otherwise) => Environment.GetEnvironmentVariable(name) ?? otherwise;
